#include "stream_ops/recording/folder_watch.h"

#include <absl/status/status.h>
#include <poll.h>
#include <spdlog/spdlog.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <utility>

#include "stream_ops/recording/file.h"
#include "stream_ops/runtime/backoff.h"

namespace eroica {
namespace {

// What is written in a row is said once.
constexpr int kPauseMs = 5;
constexpr uint32_t kWrites = IN_MODIFY | IN_CREATE;

// False: the watch ends. With nothing to wait for but that, true once the time is over.
bool Wait(int stop, int events, int timeout_ms) {
  std::array<pollfd, 2> waited{{{stop, POLLIN, 0}, {events, POLLIN, 0}}};
  while (::poll(waited.data(), events < 0 ? 1 : 2, timeout_ms) < 0 && errno == EINTR) {
  }
  return waited[0].revents == 0;
}

}  // namespace

absl::StatusOr<std::unique_ptr<FolderWatch>> FolderWatch::Start() {
  const int events = ::inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
  const int stop = events < 0 ? -1 : ::eventfd(0, EFD_CLOEXEC);
  if (stop < 0) {
    const int error = errno;
    if (events >= 0) ::close(events);
    return absl::UnavailableError(FileError(error, "watch", "folders of recordings").message());
  }
  return std::unique_ptr<FolderWatch>(new FolderWatch(events, stop));
}

FolderWatch::FolderWatch(int events, int stop)
    : events_(events), stop_(stop), thread_([this] { Listen(); }, [](const Thrown&) {}) {}

FolderWatch::~FolderWatch() {
  ::eventfd_write(stop_, 1);
  thread_.join();
  ::close(events_);
  ::close(stop_);
}

bool FolderWatch::Watch(const std::string& folder, Written written) {
  const MutexLock lock(mutex_);
  const int descriptor = ::inotify_add_watch(events_, folder.c_str(), kWrites | IN_ONLYDIR);
  if (descriptor >= 0) folders_[descriptor] = std::move(written);
  return descriptor >= 0;
}

void FolderWatch::Listen() {
  LogRate thrown_log;
  while (Wait(stop_, events_, -1)) {
    // A word that is lost for want of memory: whoever waits looks again after a while.
    RunAtBoundary([this] { CallWritten(); },
                  [&](const Thrown& thrown) {
                    if (const auto not_logged = thrown_log.Due(std::chrono::steady_clock::now()))
                      spdlog::warn(
                          "recording: an exception ended a word of new records not_logged={} "
                          "error=\"{}\"",
                          *not_logged, thrown.text());
                  });
    if (!Wait(stop_, -1, kPauseMs)) return;
  }
}

void FolderWatch::CallWritten() {
  for (const Written& written : TakeWritten()) written();
}

auto FolderWatch::TakeWritten() -> std::vector<Written> {
  std::map<int, Written> written;  // once a folder
  std::array<char, 16 << 10> buffer;
  const MutexLock lock(mutex_);
  for (ssize_t count = 0; (count = ::read(events_, buffer.data(), buffer.size())) > 0;) {
    for (ssize_t at = 0; at < count;) {
      inotify_event event{};
      std::memcpy(&event, buffer.data() + at, sizeof(event));
      at += static_cast<ssize_t>(sizeof(event) + event.len);
      if ((event.mask & IN_Q_OVERFLOW) != 0) {  // some are not named
        written = folders_;
      } else if (const auto found = folders_.find(event.wd); found != folders_.end()) {
        written.insert(*found);
        if ((event.mask & IN_IGNORED) != 0) folders_.erase(found);  // the folder is gone
      }
    }
  }
  std::vector<Written> calls;
  for (auto& [descriptor, call] : written) calls.push_back(std::move(call));
  return calls;
}

}  // namespace eroica
