# `cmake --install`: library, headers, the tool, and a package for find_package(tenure).
include(CMakePackageConfigHelpers)
install(TARGETS tenure EXPORT tenure-targets)
# All that is installed, without tests and examples: deploy/demo builds this.
add_custom_target(tenure_installed DEPENDS tenure_cli tenure_last_will tenure_manual tenure_testing)
if(TARGET tenure_cli)
  install(TARGETS tenure_cli RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
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
