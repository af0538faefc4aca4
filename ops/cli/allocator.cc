// The program's allocator is jemalloc. The records of a topic are allocated by librdkafka's threads
// and freed by ours: with glibc's arenas a node that held 80 MB took 280 after half an hour, and
// more from hour to hour. What is freed goes back to the system after ten seconds, by a thread of
// jemalloc's own, so that an idle node gives back what a busy one has needed.

// Read by jemalloc, before main.
extern "C" {
extern const char* malloc_conf;
const char* malloc_conf = "background_thread:true";
}
