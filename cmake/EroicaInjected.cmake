# eroica_injected_library(NAME OUTPUT file-name-without-lib SOURCES ... EXPORTS symbol-pattern ... [DEPS ...])
# A shared library that is loaded into somebody else's process: it exports only what EXPORTS names (patterns of a
# linker version script), carries its own C++ runtime and whatever static library it uses out of everybody's sight,
# stays loaded once it is, and needs no other shared library than the system's and libproducer_core beside it. The
# unwinder is the process' (libgcc_s.so.1, which every manylinux policy allows): with one of our own, a thread that
# ends by pthread_exit below our frames, as CPython's daemon threads do at exit, aborts the process.
function(eroica_injected_library name)
  cmake_parse_arguments(ARG "" "OUTPUT" "SOURCES;EXPORTS;DEPS" ${ARGN})
  set(script "${CMAKE_CURRENT_BINARY_DIR}/${name}.map")
  list(JOIN ARG_EXPORTS "; " exports)
  file(CONFIGURE OUTPUT "${script}" CONTENT "{ global: @exports@; local: *; };\n" @ONLY)
  add_library(${name} SHARED ${ARG_SOURCES})
  target_link_libraries(${name} PRIVATE eroica_compile_options ${ARG_DEPS})
  set_target_properties(${name} PROPERTIES
    OUTPUT_NAME "${ARG_OUTPUT}"
    LIBRARY_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/lib"
    BUILD_RPATH "$ORIGIN"
    INSTALL_RPATH "$ORIGIN"
    BUILD_WITH_INSTALL_RPATH ON
    LINK_DEPENDS "${script}")
  set_property(GLOBAL APPEND PROPERTY EROICA_INJECTED_LIBRARIES ${name})
  target_link_options(${name} PRIVATE
    "LINKER:--version-script=${script}" LINKER:--exclude-libs,ALL LINKER:-z,nodelete LINKER:-z,defs LINKER:--as-needed
    LINKER:-Bsymbolic
    LINKER:--disable-new-dtags)  # libraries of libraries are looked for beside it, too
  if(NOT EROICA_SANITIZE)  # a sanitizer's runtime is shared with the program
    target_link_options(${name} PRIVATE -static-libstdc++)
  endif()
endfunction()
