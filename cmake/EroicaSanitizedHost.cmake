# What tests need of a build under a sanitizer.
#   EROICA_TEST_SLOWNESS       how many times as long a test may take
#   EROICA_HOST_ENVIRONMENT    ENVIRONMENT of a test in Python whose processes load an injected library into an interpreter,
#                              which is not instrumented: a sanitizer's runtime must be the first library of such a
#                              process, and what throws C++ exceptions the second: the runtime looks for it as it starts.
#                              What the interpreter leaks (memory, daemon threads) is its own affair, and by which signal it
#                              ends is compared.
#                              EROICA_SANITIZED tells the test.
set(EROICA_TEST_SLOWNESS 1)
set(EROICA_HOST_ENVIRONMENT "PYTHONDONTWRITEBYTECODE=1")
if(EROICA_SANITIZE AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  set(EROICA_TEST_SLOWNESS 5)
  set(runtime libasan.so)
  if(EROICA_SANITIZE MATCHES "thread")
    set(runtime libtsan.so)
  endif()
  execute_process(COMMAND "${CMAKE_CXX_COMPILER}" "-print-file-name=${runtime}"
    OUTPUT_VARIABLE runtime OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
  file(REAL_PATH "${runtime}" runtime)
  list(APPEND EROICA_HOST_ENVIRONMENT "EROICA_SANITIZED=1" "LD_PRELOAD=${runtime}:libstdc++.so.6" "ASAN_OPTIONS=detect_leaks=0:handle_segv=0"
    "TSAN_OPTIONS=ignore_noninstrumented_modules=1:second_deadlock_stack=1:die_after_fork=0:handle_segv=0:report_thread_leaks=0")
endif()
