# How a folder declares what it builds. Includes are written from the repository root: #include "schemas/ids.h".
include(GoogleTest)

option(EROICA_WERROR "Treat warnings as errors" ON)
set(EROICA_BATCH 1 CACHE STRING "Source files of a target that are compiled at once")
set(EROICA_SANITIZE "" CACHE STRING "Sanitizers for everything that we compile, e.g. address,undefined or thread")

add_library(eroica_compile_options INTERFACE)
target_compile_options(eroica_compile_options INTERFACE
  -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wnon-virtual-dtor
  -Wno-missing-field-initializers  # what a designated initializer leaves out has its default
  # At -O3 g++ 12 takes std::string's own copying for overlapping (GCC bug 105651).
  $<$<AND:$<CXX_COMPILER_ID:GNU>,$<CONFIG:Release>>:-Wno-restrict>
  # A batch includes source files: what is local to one is local to a header for g++.
  $<$<AND:$<CXX_COMPILER_ID:GNU>,$<NOT:$<EQUAL:${EROICA_BATCH},1>>>:-Wno-subobject-linkage>
  $<$<BOOL:${EROICA_WERROR}>:-Werror>
  # librdkafka's macros of arguments are such expressions.
  $<$<CXX_COMPILER_ID:Clang>:-Wthread-safety -Wno-gnu-statement-expression-from-macro-expansion>)
# Under Clang Boost 1.74 looks for coroutines in <experimental/coroutine> alone.
target_compile_definitions(eroica_compile_options INTERFACE $<$<CXX_COMPILER_ID:Clang>:BOOST_ASIO_HAS_CO_AWAIT=1>)
target_include_directories(eroica_compile_options INTERFACE "${PROJECT_SOURCE_DIR}")
if(EROICA_SANITIZE)
  target_compile_options(eroica_compile_options INTERFACE
    -fsanitize=${EROICA_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all)
  target_link_options(eroica_compile_options INTERFACE -fsanitize=${EROICA_SANITIZE})
  # What no sanitizer sees: an optional without a value, an index beyond a vector's end within its memory.
  target_compile_definitions(eroica_compile_options INTERFACE _GLIBCXX_ASSERTIONS)
endif()

# For folders whose code waits for people, files and peers: a release build of them takes a third less
# of the compiler's time. add_compile_options(${EROICA_LIGHT}) at the folder's beginning.
set(EROICA_LIGHT $<$<CONFIG:Release>:-O1>)

# Test programs are many and are linked once each; mold, where it is installed, takes a tenth of ld's time.
find_program(EROICA_MOLD mold)
set(EROICA_TEST_LINKER)
if(EROICA_MOLD)
  set(EROICA_TEST_LINKER -fuse-ld=mold)
endif()

include(EroicaTsan)
include(EroicaSanitizedHost)

# eroica_compiled_sources(OUT name source...)
# What a target compiles for these sources of this folder: batches of up to EROICA_BATCH of them.
# Most of what the compiler does for one source is done again for the next: headers and templates.
# As CMake's UNITY_BUILD, but that the batches name no absolute path: ccache knows them in every
# clone. Sources with compile options of their own, set before, are compiled alone.
function(eroica_compiled_sources out name)
  set(alone)
  set(together)
  foreach(source IN LISTS ARGN)
    get_source_file_property(options "${source}" COMPILE_OPTIONS)
    get_source_file_property(definitions "${source}" COMPILE_DEFINITIONS)
    if(options OR definitions OR IS_ABSOLUTE "${source}" OR NOT source MATCHES "\\.cc$")
      list(APPEND alone "${source}")
    else()
      list(APPEND together "${source}")
    endif()
  endforeach()
  list(LENGTH together count)
  if(EROICA_BATCH EQUAL 1 OR count LESS 2)
    set(${out} ${ARGN} PARENT_SCOPE)
    return()
  endif()
  file(RELATIVE_PATH folder "${PROJECT_SOURCE_DIR}" "${CMAKE_CURRENT_SOURCE_DIR}")
  math(EXPR batches "(${count} + ${EROICA_BATCH} - 1) / ${EROICA_BATCH}")
  foreach(batch RANGE 1 ${batches})
    math(EXPR first "(${batch} - 1) * ${count} / ${batches}")
    math(EXPR length "${batch} * ${count} / ${batches} - ${first}")
    list(SUBLIST together ${first} ${length} members)
    list(TRANSFORM members REPLACE "(.+)" "#include \"${folder}/\\1\"\n")
    string(JOIN "" content ${members})
    set(file "${CMAKE_CURRENT_BINARY_DIR}/batches/${name}_${batch}.cc")
    file(CONFIGURE OUTPUT "${file}" CONTENT "${content}")
    list(APPEND alone "${file}")
  endforeach()
  set(${out} ${alone} PARENT_SCOPE)
endfunction()

# eroica_library(NAME SOURCES ... [DEPS public libraries ...] [PRIVATE_DEPS ...])
# Makes eroica_NAME, alias eroica::NAME.
function(eroica_library name)
  cmake_parse_arguments(ARG "" "" "SOURCES;DEPS;PRIVATE_DEPS" ${ARGN})
  eroica_compiled_sources(sources ${name} ${ARG_SOURCES})
  add_library(eroica_${name} STATIC ${sources})
  add_library(eroica::${name} ALIAS eroica_${name})
  target_link_libraries(eroica_${name}
    PUBLIC ${ARG_DEPS}
    PRIVATE eroica_compile_options ${ARG_PRIVATE_DEPS})
  target_include_directories(eroica_${name} PUBLIC "${PROJECT_SOURCE_DIR}")
endfunction()

# eroica_sources(NAME source...)
# Sources of this folder for eroica_NAME, which a folder above has made.
function(eroica_sources name)
  get_filename_component(folder "${CMAKE_CURRENT_SOURCE_DIR}" NAME)
  eroica_compiled_sources(sources ${folder} ${ARGN})
  target_sources(eroica_${name} PRIVATE ${sources})
endfunction()

# eroica_test(NAME SOURCES ... DEPS ... [LABEL unit|golden|integration|fuzz] [NIGHTLY pattern] [ALONE])
# A program of unit tests is one ctest entry; of the other labels, and with ALONE (each test wants a
# process of its own), every TEST is one. Those that fit NIGHTLY, a filter of googletest, have that
# label: only ops/test.sh --all runs them.
# RESOURCE keeps tests that share something from running at once.
function(eroica_test name)
  cmake_parse_arguments(ARG "ALONE" "LABEL;RESOURCE;TIMEOUT;NIGHTLY" "SOURCES;DEPS" ${ARGN})
  if(NOT ARG_LABEL)
    set(ARG_LABEL unit)
  endif()
  if(NOT ARG_TIMEOUT)
    set(ARG_TIMEOUT 120)
  endif()
  math(EXPR ARG_TIMEOUT "${ARG_TIMEOUT} * ${EROICA_TEST_SLOWNESS}")
  eroica_compiled_sources(sources ${name} ${ARG_SOURCES})
  add_executable(${name} ${sources})
  target_link_libraries(${name} PRIVATE eroica_compile_options ${ARG_DEPS} GTest::gmock GTest::gtest GTest::gtest_main)
  # Optimizing what runs once takes longer than running it.
  target_compile_options(${name} PRIVATE $<$<NOT:$<CONFIG:Debug>>:-O0>)
  target_link_options(${name} PRIVATE ${EROICA_TEST_LINKER})
  eroica_link_tsan_threads(${name})
  # What may take long begins first, so that nothing long is left for the end.
  set(properties TIMEOUT ${ARG_TIMEOUT} COST ${ARG_TIMEOUT})
  if(EROICA_SANITIZE MATCHES "thread")
    # RocksDB and librdkafka are not instrumented: what they do inside would be reported falsely.
    list(APPEND properties ENVIRONMENT "TSAN_OPTIONS=ignore_noninstrumented_modules=1:second_deadlock_stack=1")
  endif()
  if(ARG_RESOURCE)
    list(APPEND properties RESOURCE_LOCK ${ARG_RESOURCE})
  endif()
  if(ARG_LABEL STREQUAL "unit" AND NOT ARG_ALONE)
    add_test(NAME ${name} COMMAND ${name} WORKING_DIRECTORY "${PROJECT_SOURCE_DIR}")
    set_tests_properties(${name} PROPERTIES ${properties} LABELS ${ARG_LABEL})
  else()
    set(discover DISCOVERY_TIMEOUT 60 WORKING_DIRECTORY "${PROJECT_SOURCE_DIR}" PROPERTIES ${properties})
    if(ARG_NIGHTLY)
      gtest_discover_tests(${name} TEST_FILTER "${ARG_NIGHTLY}" TEST_LIST ${name}_nightly ${discover}
        LABELS nightly)
      gtest_discover_tests(${name} TEST_FILTER "-${ARG_NIGHTLY}" ${discover} LABELS ${ARG_LABEL})
    else()
      gtest_discover_tests(${name} ${discover} LABELS ${ARG_LABEL})
    endif()
  endif()
endfunction()
