# How our own code is compiled: warnings are errors, sanitizers and unity by option.
function(tenure_compile target)
  target_compile_features(${target} PUBLIC cxx_std_20)
  set_target_properties(${target} PROPERTIES UNITY_BUILD ${TENURE_UNITY})
  target_compile_options(${target} PRIVATE -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wnon-virtual-dtor
                                           -Woverloaded-virtual -Werror -fno-omit-frame-pointer)
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    # g++ 12 reports these inside the standard library's own inlined code.
    target_compile_options(${target} PRIVATE -Wno-error=maybe-uninitialized -Wno-restrict -Wno-stringop-overflow
                                             -Wno-array-bounds -Wno-dangling-pointer)
  endif()
  if(TENURE_SANITIZE)
    target_compile_options(${target} PUBLIC -fsanitize=${TENURE_SANITIZE} -fno-sanitize-recover=all)
    target_link_options(${target} PUBLIC -fsanitize=${TENURE_SANITIZE})
    if(TENURE_SANITIZE MATCHES undefined)
      # These look at every pointer and take half of the time to compile; what uses a null one crashes all the same.
      target_compile_options(${target} PUBLIC -fno-sanitize=null,alignment,object-size)
    endif()
    if(TENURE_SANITIZE MATCHES thread AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
      # Asio uses fences, which g++'s thread sanitizer does not follow; it only says so.
      target_compile_options(${target} PRIVATE -Wno-tsan)
    endif()
  endif()
endfunction()
