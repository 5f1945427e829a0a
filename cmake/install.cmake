# cmake --install: the program, the library with its headers, and the modules beside it, which find everything by paths
# relative to themselves, so that the folder may be moved. Components: program (all that runs), development (headers,
# find_package(evener), pkg-config), manual (the manual page), licence (LICENSE and NOTICE; a wheel has them elsewhere), wheels (a link to the unpacked
# wheels that the modules need).
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

add_library(evener::evener ALIAS evener)
set(lib "${CMAKE_INSTALL_LIBDIR}")
file(RELATIVE_PATH lib_from_bin "/${CMAKE_INSTALL_BINDIR}" "/${lib}")
set_target_properties(evener PROPERTIES SOVERSION ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR})
set_target_properties(evener_cli PROPERTIES INSTALL_RPATH "$ORIGIN/${lib_from_bin}")

# The wheels' libraries: in a folder of this installation, or, where this is a wheel itself, beside it in site-packages.
set(wheels_here "$ORIGIN/../wheels")
set(wheels_beside "$ORIGIN/../../../..")
set(of_torch torch/lib)
set(of_torch_cuda torch/lib)
set(of_openvino openvino/libs)
set(of_native_cuda nvidia/cu13/lib)
foreach(module IN LISTS evener_modules)
  string(REPLACE evener_ of_ of "${module}")
  set(places "$ORIGIN/../..")
  if(${of})
    list(APPEND places "${wheels_here}/${${of}}" "${wheels_beside}/${${of}}")
  endif()
  set_target_properties(${module} PROPERTIES INSTALL_RPATH "${places}")
endforeach()

install(TARGETS evener_cli RUNTIME DESTINATION "${CMAKE_INSTALL_BINDIR}" COMPONENT program)
install(TARGETS evener EXPORT evener LIBRARY DESTINATION "${lib}" COMPONENT program NAMELINK_COMPONENT development
  INCLUDES DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}")
install(TARGETS ${evener_modules} LIBRARY DESTINATION "${lib}/evener/modules" COMPONENT program)
install(FILES "${EVENER_DEPS_DIR}/plotly/package_data/plotly.min.js" DESTINATION "${lib}/evener" COMPONENT program OPTIONAL)

# The manual page, made of the program's own help where there is help2man.
find_program(HELP2MAN help2man)
if(HELP2MAN)
  install(CODE "
    set(folder \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/share/man/man1\")
    file(MAKE_DIRECTORY \"\${folder}\")
    execute_process(COMMAND ${HELP2MAN} --no-info --name \"train and measure image networks\"
      --output \"\${folder}/evener.1\" \"$<TARGET_FILE:evener_cli>\" COMMAND_ERROR_IS_FATAL ANY)" COMPONENT manual)
endif()

# What completes commands and options in a shell, where Debian's shells look for it.
install(CODE "
  foreach(of bash:bash-completion/completions/evener zsh:zsh/vendor-completions/_evener fish:fish/vendor_completions.d/evener.fish)
    string(REGEX MATCH \"([a-z]+):((.*)/.*)\" matched \"\${of}\")
    set(share \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/share\")
    set(file \"\${share}/\${CMAKE_MATCH_2}\")
    file(MAKE_DIRECTORY \"\${share}/\${CMAKE_MATCH_3}\")
    execute_process(COMMAND \"$<TARGET_FILE:evener_cli>\" completion \"\${CMAKE_MATCH_1}\" OUTPUT_FILE \"\${file}\"
      COMMAND_ERROR_IS_FATAL ANY)
  endforeach()" COMPONENT manual)

install(DIRECTORY include/evener DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}" COMPONENT development FILES_MATCHING PATTERN "*.h")
install(EXPORT evener NAMESPACE evener:: FILE evener-targets.cmake DESTINATION "${lib}/cmake/evener" COMPONENT development)
configure_package_config_file(cmake/evener-config.cmake.in "${CMAKE_BINARY_DIR}/evener-config.cmake"
  INSTALL_DESTINATION "${lib}/cmake/evener" NO_SET_AND_CHECK_MACRO NO_CHECK_REQUIRED_COMPONENTS_MACRO)
# Before 1.0 a new minor version may change the interface.
write_basic_package_version_file("${CMAKE_BINARY_DIR}/evener-config-version.cmake" COMPATIBILITY SameMinorVersion)
file(RELATIVE_PATH prefix_from_pc "/${lib}/pkgconfig" "/")
configure_file(cmake/evener.pc.in "${CMAKE_BINARY_DIR}/evener.pc" @ONLY)
install(FILES "${CMAKE_BINARY_DIR}/evener-config.cmake" "${CMAKE_BINARY_DIR}/evener-config-version.cmake"
  DESTINATION "${lib}/cmake/evener" COMPONENT development)
install(FILES "${CMAKE_BINARY_DIR}/evener.pc" DESTINATION "${lib}/pkgconfig" COMPONENT development)

install(FILES LICENSE NOTICE DESTINATION share/doc/evener COMPONENT licence)

# What is installed here and now goes on using the wheels that it was built with; packages leave this component out.
install(CODE "
  set(folder \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/${lib}/evener\")
  file(MAKE_DIRECTORY \"\${folder}\")
  file(CREATE_LINK \"${EVENER_DEPS_DIR}\" \"\${folder}/wheels\" SYMBOLIC)" COMPONENT wheels)

include(cmake/package.cmake)
