# What tests need of a build under a sanitizer.
#   EROICA_TEST_SLOWNESS       how many times as long a test may take
#   EROICA_HOST_ENVIRONMENT    ENVIRONMENT of a test in Python whose processes load an injected library into an interpreter,
#                              which is not instrumented: a sanitizer's runtime must be the first library of such a
#                              process, and what throws C++ exceptions the second: the runtime looks for it as it starts.
#                              What the interpreter leaks (memory, daemon threads) is not looked at, and by which signal it
#                              ends is compared.
#                              EROICA_SANITIZED tells the test by which: thread or address.
set(EROICA_TEST_SLOWNESS 1)
set(EROICA_HOST_ENVIRONMENT "PYTHONDONTWRITEBYTECODE=1")
if(EROICA_SANITIZE AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  set(EROICA_TEST_SLOWNESS 5)
  set(sanitizer address)
  set(runtime libasan.so)
  if(EROICA_SANITIZE MATCHES "thread")
    set(sanitizer thread)
    set(runtime libtsan.so)
    # Our executables link these definitions (EroicaTsan.cmake); an interpreter gets them preloaded.
    add_library(eroica_tsan_host_threads SHARED "${CMAKE_CURRENT_LIST_DIR}/tsan_c11_threads.c")
    target_compile_options(eroica_tsan_host_threads PRIVATE -Wall -Wextra -fsanitize=thread -fno-omit-frame-pointer)
    target_link_options(eroica_tsan_host_threads PRIVATE -fsanitize=thread)
    set(host_threads ":$<TARGET_FILE:eroica_tsan_host_threads>")
  endif()
  execute_process(COMMAND "${CMAKE_CXX_COMPILER}" "-print-file-name=${runtime}"
    OUTPUT_VARIABLE runtime OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
  file(REAL_PATH "${runtime}" runtime)
  list(APPEND EROICA_HOST_ENVIRONMENT "EROICA_SANITIZED=${sanitizer}" "LD_PRELOAD=${runtime}:libstdc++.so.6${host_threads}" "ASAN_OPTIONS=detect_leaks=0:handle_segv=0"
    "TSAN_OPTIONS=ignore_noninstrumented_modules=1:second_deadlock_stack=1:die_after_fork=0:handle_segv=0:report_thread_leaks=0")
endif()
