// Hears from the kernel (inotify) that somebody writes into the files of folders, so that who
// follows a recording need not wait until it looks again. A help, no promise: where the system
// refuses, or a folder comes later, whoever waits must look again after a while all the same.
// One thread of its own; all calls are thread-safe.
#pragma once

#include <absl/status/statusor.h>

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "schemas/boundary_thread.h"
#include "schemas/mutex.h"

namespace eroica {

class FolderWatch {
 public:
  // Called on the watch's thread; for many writes in a row, once. Must not call the watch.
  using Written = std::function<void()>;

  // kUnavailable where the system gives none (fs.inotify.max_user_instances).
  static absl::StatusOr<std::unique_ptr<FolderWatch>> Start();
  // No call is made any more once this is over.
  ~FolderWatch();

  // False where there is no such folder, or the system refuses (fs.inotify.max_user_watches).
  // Again for the same folder: `written` takes the place of what was called before.
  bool Watch(const std::string& folder, Written written);

 private:
  FolderWatch(int events, int stop);

  void Listen();
  void CallWritten();
  // Of the folders that were written into since this was asked last.
  std::vector<Written> TakeWritten();

  const int events_;  // descriptor of inotify(7)
  const int stop_;    // readable once the watch ends (eventfd(2))
  Mutex mutex_;
  std::map<int, Written> folders_ EROICA_GUARDED_BY(mutex_);
  BoundaryThread thread_;
};

}  // namespace eroica
