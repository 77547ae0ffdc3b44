# `cmake --install`: library, headers, the tool, and a package for find_package(tenure).
include(CMakePackageConfigHelpers)
install(TARGETS tenure EXPORT tenure-targets)
# All that is installed, without tests and examples: deploy/demo builds this.
add_custom_target(tenure_installed DEPENDS tenure_cli tenure_last_will tenure_manual tenure_testing)
if(TARGET tenure_cli)
  install(TARGETS tenure_cli RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
  install(FILES ${CMAKE_BINARY_DIR}/man/tenure.bash DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions
          RENAME tenure)
  install(FILES deploy/monitoring/alerts.yml deploy/monitoring/dashboard.json
          DESTINATION ${CMAKE_INSTALL_DATADIR}/tenure)
  install(FILES deploy/systemd/sysusers.conf DESTINATION lib/sysusers.d RENAME tenure.conf)
  install(FILES deploy/systemd/tmpfiles.conf DESTINATION lib/tmpfiles.d RENAME tenure.conf)
  # The units start the tool of this prefix, which may be given as late as `cmake --install --prefix`.
  set(TENURE_UNIT ${CMAKE_CURRENT_SOURCE_DIR}/deploy/systemd/tenure@.service)
  install(CODE "
    set(bin \"${CMAKE_INSTALL_BINDIR}\")
    if(NOT IS_ABSOLUTE \"\${bin}\")
      set(bin \"\${CMAKE_INSTALL_PREFIX}/\${bin}\")
    endif()
    execute_process(COMMAND mktemp -d OUTPUT_VARIABLE folder OUTPUT_STRIP_TRAILING_WHITESPACE)
    file(READ \"${TENURE_UNIT}\" unit)
    string(REPLACE /usr/bin/tenure \"\${bin}/tenure\" unit \"\${unit}\")
    file(WRITE \"\${folder}/tenure@.service\" \"\${unit}\")
    string(REPLACE \"tenure consume\" \"tenure relay\" unit \"\${unit}\")
    string(REPLACE \"leader-elected consumer\" \"leader-elected relay\" unit \"\${unit}\")
    string(REPLACE \"tenure@orders\" \"tenure-relay@orders\" unit \"\${unit}\")
    file(WRITE \"\${folder}/tenure-relay@.service\" \"\${unit}\")
    file(INSTALL DESTINATION \"\${CMAKE_INSTALL_PREFIX}/lib/systemd/system\" TYPE FILE
         FILES \"\${folder}/tenure@.service\" \"\${folder}/tenure-relay@.service\")
    file(REMOVE_RECURSE \"\${folder}\")")
  foreach(part 1 5 7)
    install(DIRECTORY ${CMAKE_BINARY_DIR}/man/ DESTINATION ${CMAKE_INSTALL_MANDIR}/man${part}
            FILES_MATCHING PATTERN "*.${part}")
  endforeach()
endif()
if(TARGET tenure_last_will)
  install(TARGETS tenure_last_will EXPORT tenure-targets RUNTIME DESTINATION ${CMAKE_INSTALL_LIBEXECDIR}/tenure)
endif()
install(DIRECTORY include/tenure ${CMAKE_BINARY_DIR}/include/tenure DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(EXPORT tenure-targets NAMESPACE tenure:: DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/tenure)
set(TENURE_HELPERS ${CMAKE_INSTALL_LIBEXECDIR}/tenure)
configure_package_config_file(cmake/tenure-config.cmake.in ${CMAKE_BINARY_DIR}/tenure-config.cmake
                              INSTALL_DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/tenure PATH_VARS TENURE_HELPERS)
write_basic_package_version_file(${CMAKE_BINARY_DIR}/tenure-config-version.cmake COMPATIBILITY SameMajorVersion)
install(FILES ${CMAKE_BINARY_DIR}/tenure-config.cmake ${CMAKE_BINARY_DIR}/tenure-config-version.cmake
              cmake/tenure-helpers.cpp.in
        DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/tenure)
