#include "stream_ops/recording/topic_folder.h"

#include <sys/stat.h>

#include <utility>

#include "schemas/outside_time.h"

namespace eroica {
namespace {

// The coarsest times of change that file systems keep.
constexpr std::chrono::seconds kRest{2};

}  // namespace

std::optional<std::chrono::nanoseconds> LastChangeOfFolder(const std::string& path) {
  struct stat folder {};
  if (::stat(path.c_str(), &folder) != 0) return std::nullopt;
  const std::chrono::nanoseconds changed(ModifiedNs(folder));
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return now - changed > kRest ? std::optional<std::chrono::nanoseconds>(changed) : std::nullopt;
}

TopicFolder::TopicFolder(std::string path) : path_(std::move(path)) {}

std::optional<std::chrono::nanoseconds> TopicFolder::LastChange() {
  const MutexLock lock(mutex_);
  const auto now = std::chrono::steady_clock::now();
  if (!looked_at_ || now - *looked_at_ >= kInterval) {
    looked_at_ = now;
    last_change_ = LastChangeOfFolder(path_);
  }
  return last_change_;
}

}  // namespace eroica
