#include "state_store/rocksdb_store_files.h"

#include <rocksdb/file_system.h>
#include <sys/stat.h>

#include <memory>
#include <string>

namespace eroica {
namespace {

using rocksdb::FileOptions;
using rocksdb::FSWritableFile;
using rocksdb::IODebugContext;
using rocksdb::IOStatus;

// Whatever the system's files do, and nobody else reads what it makes. A file has nothing in it
// before its mode is set.
class PrivateFileSystem final : public rocksdb::FileSystemWrapper {
 public:
  using FileSystemWrapper::FileSystemWrapper;
  const char* Name() const override { return "EroicaPrivateFiles"; }

  IOStatus NewWritableFile(const std::string& path, const FileOptions& options,
                           std::unique_ptr<FSWritableFile>* file, IODebugContext* debug) override {
    return Private(target()->NewWritableFile(path, options, file, debug), path);
  }
  IOStatus ReopenWritableFile(const std::string& path, const FileOptions& options,
                              std::unique_ptr<FSWritableFile>* file,
                              IODebugContext* debug) override {
    return Private(target()->ReopenWritableFile(path, options, file, debug), path);
  }
  IOStatus ReuseWritableFile(const std::string& path, const std::string& old_path,
                             const FileOptions& options, std::unique_ptr<FSWritableFile>* file,
                             IODebugContext* debug) override {
    return Private(target()->ReuseWritableFile(path, old_path, options, file, debug), path);
  }
  IOStatus LockFile(const std::string& path, const rocksdb::IOOptions& options,
                    rocksdb::FileLock** lock, IODebugContext* debug) override {
    return Private(target()->LockFile(path, options, lock, debug), path);
  }

 private:
  // A file system without modes keeps what it has.
  static IOStatus Private(IOStatus made, const std::string& path) {
    if (made.ok()) static_cast<void>(::chmod(path.c_str(), S_IRUSR | S_IWUSR));
    return made;
  }
};

}  // namespace

rocksdb::Env* PrivateEnv() {
  static rocksdb::Env* const env = [] {
    return rocksdb::NewCompositeEnv(
               std::make_shared<PrivateFileSystem>(rocksdb::FileSystem::Default()))
        .release();
  }();
  return env;
}

}  // namespace eroica
