# Compiles the files of a room some at a time, which makes a build from nothing more than twice as fast: what headers and
# templates cost is paid once for all of them. What stands in an anonymous namespace therefore needs a name of its own
# among the files of its room, as names have in this house anyway; a file that can't have one is not passed here, and one
# with options or definitions of its own (set before the call) is compiled alone.
#
#   compile_together(TARGET SOURCE...)   SOURCE: relative to the current folder or absolute; what isn't C++ is passed over;
#                                        those of a room with another property TOGETHER, such as "loops", stay apart
#
# CMake's own unity files include by absolute paths. These name what they include from the repository's folder on, so that
# two copies of the repository compile the same text and a compiler cache knows it again.
function(compile_together target)
  if(NOT EVENER_COMPILE_TOGETHER)
    return()
  endif()
  set(files_at_once 16)
  set(rooms)
  foreach(source IN LISTS ARGN)
    has_properties("${source}" alone)
    if(source MATCHES "\\.cpp$" AND NOT alone)
      get_filename_component(path "${source}" ABSOLUTE)
      file(RELATIVE_PATH path "${CMAKE_SOURCE_DIR}" "${path}")
      string(REGEX MATCH "^[^/]+/[^/]+" room "${path}")
      get_source_file_property(part_of_room "${source}" TOGETHER)
      if(part_of_room)
        string(APPEND room "_${part_of_room}")
      endif()
      string(MAKE_C_IDENTIFIER "${room}" files)
      list(APPEND ${files} "${path}")
      list(APPEND rooms ${files})
    endif()
  endforeach()
  list(REMOVE_DUPLICATES rooms)
  foreach(files IN LISTS rooms)
    list(LENGTH ${files} count)
    math(EXPR parts "(${count} + ${files_at_once} - 1) / ${files_at_once}")
    set(index 0)
    foreach(path IN LISTS ${files})
      math(EXPR part "${index} * ${parts} / ${count}")
      list(APPEND ${files}_${part} "${path}")
      math(EXPR index "${index} + 1")
    endforeach()
    math(EXPR last "${parts} - 1")
    foreach(part RANGE ${last})
      compile_as_one(${target} "${files}_${part}" ${${files}_${part}})
    endforeach()
  endforeach()
  target_compile_options(${target} PRIVATE "-iquote${CMAKE_SOURCE_DIR}"
    # GCC takes the files for headers, in which types of anonymous namespaces would be different ones for each user.
    $<$<CXX_COMPILER_ID:GNU>:-Wno-subobject-linkage>)
endfunction()

# Writes one file that includes all of them (PATH: from the repository's folder on), and compiles that in their place.
function(compile_as_one target name) # PATH...
  list(LENGTH ARGN count)
  if(count EQUAL 1)
    return()
  endif()
  set(text "")
  foreach(path IN LISTS ARGN)
    string(APPEND text "#include \"${path}\"\n")
    set_source_files_properties("${CMAKE_SOURCE_DIR}/${path}" PROPERTIES HEADER_FILE_ONLY ON)
  endforeach()
  set(together "${CMAKE_CURRENT_BINARY_DIR}/together/${target}/${name}.cpp")
  file(CONFIGURE OUTPUT "${together}" CONTENT "${text}" @ONLY)  # leaves a file alone that has this text
  target_sources(${target} PRIVATE "${together}")
endfunction()

function(has_properties source result)
  set(${result} OFF PARENT_SCOPE)
  foreach(property COMPILE_OPTIONS COMPILE_DEFINITIONS)
    get_source_file_property(value "${source}" ${property})
    if(value)
      set(${result} ON PARENT_SCOPE)
    endif()
  endforeach()
endfunction()
