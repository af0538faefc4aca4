# eroica_link_tsan_threads(target): in a build under ThreadSanitizer, lets an executable that may load librdkafka run (see tsan_c11_threads.c). Nothing
# otherwise.
if(EROICA_SANITIZE MATCHES "thread")
  # Asio's own fences, which ThreadSanitizer does not know and g++ refuses beside it (-Werror=tsan). Its queues have locks.
  target_compile_definitions(eroica_compile_options INTERFACE BOOST_ASIO_DISABLE_FENCED_BLOCK)
  add_library(eroica_tsan_threads OBJECT "${CMAKE_CURRENT_LIST_DIR}/tsan_c11_threads.c")
  target_compile_options(eroica_tsan_threads PRIVATE -Wall -Wextra -fsanitize=thread -fno-omit-frame-pointer)
endif()

function(eroica_link_tsan_threads target)
  if(EROICA_SANITIZE MATCHES "thread")
    target_link_libraries(${target} PRIVATE eroica_tsan_threads)
    set_target_properties(${target} PROPERTIES ENABLE_EXPORTS ON)
  endif()
endfunction()
