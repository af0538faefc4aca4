#include "ops/launch/rank_processes.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <system_error>
#include <utility>

#include "ops/launch/asked_end.h"
#include "ops/launch/exit_status.h"
#include "ops/launch/wall_clock.h"
#include "producers/core/place_note.h"
#include "producers/core/rank_claim.h"

namespace eroica {
namespace {

// Whether the process has the lock open: its number may be that of another pid namespace, or of
// another host that shares the folder, and mean somebody else here.
bool Holds(pid_t pid, const std::string& lock) {
  struct stat wanted {};
  if (::stat(lock.c_str(), &wanted) != 0) return false;
  const std::string name = std::filesystem::path(lock).filename().string();
  std::error_code error;
  for (std::filesystem::directory_iterator file(fmt::format("/proc/{}/fd", pid), error), end;
       !error && file != end; file.increment(error)) {
    std::error_code unreadable;
    if (std::filesystem::read_symlink(file->path(), unreadable).filename() != name) continue;
    struct stat held {};
    if (::stat(file->path().c_str(), &held) == 0 && held.st_dev == wanted.st_dev &&
        held.st_ino == wanted.st_ino)
      return true;
  }
  return false;
}

bool AwaitReadable(int epoll, int descriptor) {
  epoll_event event{.events = EPOLLIN, .data = {.fd = descriptor}};
  return ::epoll_ctl(epoll, EPOLL_CTL_ADD, descriptor, &event) == 0;
}

bool HasEnded(int pid_descriptor) {
  pollfd watched{.fd = pid_descriptor, .events = POLLIN, .revents = 0};
  return ::poll(&watched, 1, 0) > 0;
}

}  // namespace

RankProcesses::RankProcesses(std::string exchange_folder)
    : folder_(std::move(exchange_folder)),
      stopped_(::eventfd(0, EFD_CLOEXEC)),
      ends_(::epoll_create1(EPOLL_CLOEXEC)) {
  AwaitReadable(ends_, stopped_);
}

RankProcesses::~RankProcesses() {
  for (const Watched& watched : watched_) ::close(watched.descriptor);
  for (const int descriptor : {stopped_, ends_}) {
    if (descriptor >= 0) ::close(descriptor);
  }
}

std::optional<RankProcesses::Watched> RankProcesses::Watch(uint32_t rank, pid_t pid) const {
  const auto descriptor = static_cast<int>(::syscall(SYS_pidfd_open, pid, 0));
  if (descriptor < 0) return std::nullopt;
  if (HasEnded(descriptor) || !Holds(pid, RankClaim::LockPath(folder_, rank)) ||
      !AwaitReadable(ends_, descriptor)) {
    ::close(descriptor);
    return std::nullopt;
  }
  return Watched{.process = {.rank = rank, .pid = pid, .seen_ns = WallClockNs()},
                 .descriptor = descriptor,
                 .out_of_memory = OutOfMemoryCount(pid)};
}

std::vector<RankProcess> RankProcesses::TakeNew() {
  std::vector<RankProcess> found;
  for (const RankClaim::Holder& holder : RankClaim::HoldersIn(folder_)) {
    const auto known = claimed_.find(holder.rank);
    if (known != claimed_.end() && known->second == holder.pid) continue;
    if (watched_.size() >= kMost) break;
    claimed_[holder.rank] = holder.pid;
    std::optional<Watched> watched = Watch(holder.rank, holder.pid);
    if (!watched) continue;
    found.push_back(watched->process);
    watched_.push_back(*std::move(watched));
  }
  return found;
}

std::vector<EndedRank> RankProcesses::WaitForEnds(std::chrono::milliseconds timeout) {
  constexpr size_t kAtOnce = 64;
  std::array<epoll_event, kAtOnce> events{};
  auto wait_ms = static_cast<int>(timeout.count());
  std::vector<EndedRank> ended;
  for (bool more = true; more; wait_ms = 0) {
    const int count = ::epoll_wait(ends_, events.data(), kAtOnce, wait_ms);
    more = count == static_cast<int>(kAtOnce);
    for (int i = 0; i < count; ++i) {
      const auto watched =
          std::ranges::find(watched_, events[static_cast<size_t>(i)].data.fd, &Watched::descriptor);
      if (watched == watched_.end()) continue;  // that nobody waits any more
      ended.push_back(EndOf(*watched));
      ::close(watched->descriptor);
      watched_.erase(watched);
    }
  }
  return ended;
}

void RankProcesses::StopWaiting() {
  const uint64_t one = 1;
  [[maybe_unused]] const ssize_t written = ::write(stopped_, &one, sizeof(one));
}

bool RankProcesses::AreOthersUntold(const Watched& watched, int32_t signal) const {
  if (!AsksForEnd(signal) || watched_.size() < 2) return false;
  return std::ranges::all_of(watched_, [&](const Watched& other) {
    return other.descriptor == watched.descriptor ||
           (IsUntold(other.process.pid, signal) && !HasEnded(other.descriptor));
  });
}

EndedRank RankProcesses::EndOf(const Watched& watched) const {
  const int64_t time_ns = WallClockNs();
  const ProcessEnd end = ReadEnd(watched.descriptor, watched.process.pid);
  // Before all else: a launcher ends the others within milliseconds.
  const bool others_untold = AreOthersUntold(watched, end.signal);
  EndedRank ended{.process = watched.process,
                  .time_ns = time_ns,
                  .end = end,
                  .place = ReadPlaceNote(folder_, watched.process.rank),
                  .others_untold = others_untold};
  ended.end.started_ns = watched.process.seen_ns;
  ended.end.out_of_memory = ended.end.signal == SIGKILL && watched.out_of_memory.HasGrown();
  const bool is_its_own =
      ended.place && ended.place->pid == static_cast<uint32_t>(watched.process.pid);
  if (!is_its_own) ended.place.reset();
  return ended;
}

}  // namespace eroica
