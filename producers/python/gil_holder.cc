#include "producers/python/gil_holder.h"

#include <dirent.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <string_view>

#include "producers/python/run_times.h"
#include "producers/python/stack_walker.h"

namespace eroica {
namespace {

constexpr size_t kMostCandidates = 8;
constexpr int64_t kLeastCpuNs = 1'000'000;

int64_t MonotonicNs() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

// Up to the next '\0', which is taken off, too.
std::string TakeField(std::string_view* text) {
  const size_t end = std::min(text->find('\0'), text->size());
  std::string field(text->substr(0, end));
  text->remove_prefix(std::min(end + 1, text->size()));
  return field;
}

}  // namespace

std::vector<GilHolder::ThreadTime> GilHolder::ReadThreads() {
  std::vector<ThreadTime> threads;
  DIR* folder = opendir("/proc/self/task");
  if (folder == nullptr) return threads;
  while (const dirent* entry = readdir(folder)) {
    const int thread_id = std::atoi(entry->d_name);
    if (thread_id <= 0 || threads.size() >= kMostThreads) continue;
    if (const auto times = RunTimesFile(thread_id).Read())
      threads.push_back({thread_id, times->on_processor_ns});
  }
  closedir(folder);
  return threads;
}

void GilHolder::Count() { counted_ = ReadThreads(); }

std::string GilHolder::Find(int waiting) {
  if (describe_ == nullptr) return "";
  std::vector<ThreadTime> used = ReadThreads();
  const std::vector<ThreadTime> now = used;
  for (ThreadTime& thread : used) {
    const auto before = std::find_if(
        counted_.begin(), counted_.end(),
        [&](const ThreadTime& counted) { return counted.thread_id == thread.thread_id; });
    if (before != counted_.end()) thread.cpu_ns -= before->cpu_ns;
  }
  counted_ = now;
  std::erase_if(used, [waiting](const ThreadTime& thread) {
    return thread.thread_id == waiting || thread.thread_id == gettid() ||
           thread.cpu_ns < kLeastCpuNs;
  });
  std::sort(used.begin(), used.end(),
            [](const auto& a, const auto& b) { return a.cpu_ns > b.cpu_ns; });
  if (used.size() > kMostCandidates) used.resize(kMostCandidates);

  std::string holder;
  const int64_t start_ns = MonotonicNs();
  const int gil = python_.PyGILState_Ensure();
  last_wait_ns_ = MonotonicNs() - start_ns;
  for (size_t i = 0; i < used.size() && holder.empty(); ++i) holder = Describe(used[i].thread_id);
  python_.PyGILState_Release(gil);
  return holder;
}

std::string GilHolder::Describe(int thread_id) const {
  std::string result;
  PyPointer answer = python_.PyObject_CallFunction(describe_, "i", thread_id);
  char* raw = nullptr;
  ptrdiff_t size = 0;
  if (answer != nullptr && python_.PyBytes_AsStringAndSize(answer, &raw, &size) == 0) {
    std::string_view fields(raw, static_cast<size_t>(size));
    const std::string thread = TakeField(&fields);
    const std::string file = TakeField(&fields);
    const long line = std::strtol(TakeField(&fields).c_str(), nullptr, 10);
    result = "thread " + thread + " in " + NameOfCode(python_, file, line, TakeField(&fields));
  }
  if (answer != nullptr) python_.Py_DecRef(answer);
  python_.PyErr_Clear();
  return result;
}

}  // namespace eroica
