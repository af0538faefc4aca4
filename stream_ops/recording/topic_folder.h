// The folder of a topic, as those who follow a recording see it: whether a partition may have been
// added since somebody looked. A recording of one host has many partitions that no rank ever
// writes, and its followers ask for each of them several times a second: one look at the folder
// answers for all. Thread-safe.
#pragma once

#include <chrono>
#include <optional>
#include <string>

#include "schemas/mutex.h"

namespace eroica {

// When an entry was last added to the folder or taken away, by the clock of the file system.
// Nothing while that is so recent that a further change may bear the same time, and where there is
// no folder: then nobody can rely on it.
std::optional<std::chrono::nanoseconds> LastChangeOfFolder(const std::string& path);

class TopicFolder {
 public:
  explicit TopicFolder(std::string path);

  // LastChangeOfFolder, at most kInterval old.
  std::optional<std::chrono::nanoseconds> LastChange();

 private:
  static constexpr std::chrono::milliseconds kInterval{100};

  const std::string path_;
  Mutex mutex_;
  std::optional<std::chrono::steady_clock::time_point> looked_at_ EROICA_GUARDED_BY(mutex_);
  std::optional<std::chrono::nanoseconds> last_change_ EROICA_GUARDED_BY(mutex_);
};

}  // namespace eroica
