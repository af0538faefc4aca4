#include "producers/core/rank_claim.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <optional>
#include <string_view>
#include <system_error>
#include <utility>

#include "schemas/file_access.h"
#include "schemas/function.h"

namespace eroica {
namespace {

absl::Status SystemError(std::string_view what, const std::string& path) {
  return absl::ErrnoToStatus(errno, fmt::format("cannot {} {}", what, path));
}

// A lock begins with the holder's process number, padded to so many bytes. The last byte says
// where the holder has its rank from. One byte for each refused process follows.
constexpr int64_t kHolderBytes = 24;
constexpr char kAssumedMark = '?';

std::string QuestionPath(const std::string& folder, uint32_t rank) {
  return fmt::format("{}/rank-{}.asked", folder, rank);
}

// A folder that somebody else made for us could be a link to anywhere.
absl::Status CheckIsOurs(const std::string& folder) {
  struct stat status {};
  if (::lstat(folder.c_str(), &status) != 0) return SystemError("look at", folder);
  if (!S_ISDIR(status.st_mode) || status.st_uid != ::geteuid()) {
    return absl::PermissionDeniedError(fmt::format("{} is not a folder of this user", folder));
  }
  return absl::OkStatus();
}

}  // namespace

std::vector<std::string> ExchangeParents() {
  constexpr const char* kSharedMemory = "/dev/shm";
  const std::array<const char*, 4> places = {std::getenv("XDG_RUNTIME_DIR"), kSharedMemory,
                                             std::getenv("TMPDIR"), "/tmp"};
  std::vector<std::string> usable;
  for (const char* place : places) {
    if (place != nullptr && *place == '/' && ::access(place, W_OK | X_OK) == 0)
      usable.emplace_back(place);
  }
  if (usable.empty()) usable.emplace_back(kSharedMemory);
  return usable;
}

std::string DefaultExchangeFolder(const std::string& job) {
  // The job's name may hold anything: its hash is the folder's name.
  const uint64_t hash = HashFunction(FunctionClass::kPython, job, FunctionId{0}).value;
  return fmt::format("{}/eroica-{}-{:016x}", ExchangeParents()[0], ::geteuid(), hash);
}

std::string RankClaim::LockPath(const std::string& folder, uint32_t rank) {
  return fmt::format("{}/rank-{}.lock", folder, rank);
}

absl::StatusOr<RankClaim> RankClaim::Take(const std::string& folder, uint32_t rank,
                                          RankSource source) {
  if (const std::error_code error = MakeFolders(folder); error)
    return absl::UnavailableError(fmt::format("cannot make {}: {}", folder, error.message()));
  if (absl::Status status = CheckIsOurs(folder); !status.ok()) return status;
  const std::string path = LockPath(folder, rank);
  const int file = OpenFile(path, O_RDWR | O_CREAT | O_NOFOLLOW);
  if (file < 0)
    return absl::UnavailableError(fmt::format("cannot open {}: {}", path, OpenErrorText(errno)));
  if (::flock(file, LOCK_EX | LOCK_NB) != 0) {
    const int code = errno;
    std::array<char, kHolderBytes> holder{};
    const ssize_t length = ::pread(file, holder.data(), holder.size() - 1, 0);
    ::close(file);
    if (code != EWOULDBLOCK) return absl::ErrnoToStatus(code, "cannot lock " + path);
    return absl::AlreadyExistsError(fmt::format("rank {} is attached in process {} already", rank,
                                                length > 0 ? holder.data() : "unknown"));
  }
  std::string holder = std::to_string(::getpid());
  holder.resize(kHolderBytes);
  if (source == RankSource::kAssumed) holder.back() = kAssumedMark;
  const bool written =
      ::ftruncate(file, 0) == 0 && ::pwrite(file, holder.data(), holder.size(), 0) > 0;
  if (!written) {
    const absl::Status status = SystemError("write", path);
    ::close(file);
    return status;
  }
  std::string question = QuestionPath(folder, rank);
  ::unlink(question.c_str());  // it was asked of the holder before
  return RankClaim(file, std::move(question));
}

void RankClaim::Ask(const std::string& folder, uint32_t rank) {
  const int file = OpenFile(QuestionPath(folder, rank), O_WRONLY | O_CREAT | O_NOFOLLOW);
  if (file >= 0) ::close(file);
}

bool RankClaim::IsAsked() const { return ::access(question_.c_str(), F_OK) == 0; }

void RankClaim::Release() {
  if (file_ < 0) return;
  ::flock(file_, LOCK_UN);
  CloseInChild();
}

bool RankClaim::IsHeldByAssumption(const std::string& folder, uint32_t rank) {
  const std::optional<std::string> written =
      ReadFile(LockPath(folder, rank), kHolderBytes + 2 * kMostRefused);
  return written && written->size() >= kHolderBytes && (*written)[kHolderBytes - 1] == kAssumedMark;
}

bool RankClaim::IsHeldByAncestor(const std::string& folder, uint32_t rank) {
  const std::optional<std::string> written =
      ReadFile(LockPath(folder, rank), kHolderBytes + 2 * kMostRefused);
  const pid_t holder = written ? std::atoi(written->c_str()) : 0;
  if (holder <= 0) return false;
  constexpr int kDeepest = 64;
  pid_t process = ::getpid();
  for (int i = 0; i < kDeepest && process > 1; ++i) {
    if (process == holder) return true;
    // "pid (name, which may hold anything) state parent ..."
    std::ifstream status(fmt::format("/proc/{}/stat", process));
    std::string line;
    std::getline(status, line);
    const size_t name_end = line.rfind(") ");
    if (name_end == std::string::npos || name_end + 4 >= line.size()) return false;
    process = std::atoi(line.c_str() + name_end + 4);
  }
  return false;
}

std::vector<RankClaim::Holder> RankClaim::HoldersIn(const std::string& folder) {
  constexpr std::string_view kBegin = "rank-";
  constexpr std::string_view kEnd = ".lock";
  std::vector<Holder> holders;
  std::error_code error;
  for (std::filesystem::directory_iterator entry(folder, error), end; !error && entry != end;
       entry.increment(error)) {
    const std::string name = entry->path().filename().string();
    if (!name.starts_with(kBegin) || !name.ends_with(kEnd)) continue;
    uint32_t rank = 0;
    const char* const first = name.data() + kBegin.size();
    const char* const last = name.data() + name.size() - kEnd.size();
    const auto [rest, failed] = std::from_chars(first, last, rank);
    if (failed != std::errc() || rest != last) continue;
    const std::optional<std::string> written =
        ReadFile(entry->path().string(), kHolderBytes + 2 * kMostRefused);
    const int32_t pid = written ? std::atoi(written->c_str()) : 0;
    if (pid > 0) holders.push_back({.rank = rank, .pid = pid});
  }
  std::ranges::sort(holders, {}, &Holder::rank);
  return holders;
}

void RankClaim::NoteRefused(const std::string& folder, uint32_t rank) {
  const int file = OpenFile(LockPath(folder, rank), O_WRONLY | O_APPEND | O_NOFOLLOW);
  if (file < 0) return;
  struct stat status {};
  // Before the holder has written its number nothing is behind it: a process that is refused in
  // these microseconds writes a place for it.
  if (::fstat(file, &status) == 0 && status.st_size < kHolderBytes + kMostRefused) {
    const int64_t missing = std::max<int64_t>(kHolderBytes - status.st_size, 0);
    const std::string word(static_cast<size_t>(missing) + 1, '\0');
    [[maybe_unused]] const ssize_t written = ::write(file, word.data(), word.size());
  }
  ::close(file);
}

uint32_t RankClaim::refused() const {
  struct stat status {};
  if (file_ < 0 || ::fstat(file_, &status) != 0 || status.st_size <= kHolderBytes) return 0;
  return static_cast<uint32_t>(std::min<int64_t>(status.st_size - kHolderBytes, kMostRefused));
}

void RankClaim::CloseInChild() {
  if (file_ >= 0) ::close(file_);
  file_ = -1;
}

}  // namespace eroica
