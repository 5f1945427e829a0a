# The Debian package, by CPack (tools/package deb): the program with the libraries of the wheels inside, without Python.
set(wheels "${lib}/evener/wheels")
file(GLOB torch_files "${EVENER_DEPS_DIR}/torch/lib/libtorch_cpu.so" "${EVENER_DEPS_DIR}/torch/lib/libc10.so"
  "${EVENER_DEPS_DIR}/torch/lib/libgomp*")
file(GLOB openvino_files "${EVENER_DEPS_DIR}/openvino/libs/*.so*")
file(GLOB cuda_files "${EVENER_DEPS_DIR}/nvidia/cu13/lib/libcudart.so*" "${EVENER_DEPS_DIR}/nvidia/cu13/lib/libcupti.so*")
install(FILES ${torch_files} DESTINATION "${wheels}/torch/lib" COMPONENT wheels_inside EXCLUDE_FROM_ALL)
install(FILES ${openvino_files} DESTINATION "${wheels}/openvino/libs" COMPONENT wheels_inside EXCLUDE_FROM_ALL)
install(FILES ${cuda_files} DESTINATION "${wheels}/nvidia/cu13/lib" COMPONENT wheels_inside EXCLUDE_FROM_ALL)
install(FILES packaging/copyright DESTINATION share/doc/evener COMPONENT wheels_inside EXCLUDE_FROM_ALL)
foreach(wheel torch openvino nvidia_cuda_runtime nvidia_cuda_cupti plotly)
  file(GLOB path "${EVENER_DEPS_DIR}/${wheel}-*.dist-info/licenses")
  install(CODE "file(COPY \"${path}\" DESTINATION \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/share/doc/evener/${wheel}\")"
    COMPONENT wheels_inside EXCLUDE_FROM_ALL)
endforeach()

# Their code comes inside by their headers; the names are those of tools/package.
foreach(package libcli11-dev nlohmann-json3-dev)
  install(FILES /usr/share/doc/${package}/copyright DESTINATION share/doc/evener RENAME ${package}.txt COMPONENT wheels_inside
    EXCLUDE_FROM_ALL OPTIONAL)
endforeach()

set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_VENDOR "evener")
set(CPACK_PACKAGE_CONTACT "evener <evener@localhost>")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_COMPONENTS_ALL program development manual licence wheels_inside)
set(CPACK_COMPONENTS_GROUPING ALL_COMPONENTS_IN_ONE)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION science)
# What it depends on is found by tools/package, of our own files alone: dpkg-shlibdeps would read all of LibTorch.
set(CPACK_DEBIAN_COMPRESSION_TYPE zstd)
include(CPack)
