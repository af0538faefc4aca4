// For tests: a folder of files that stand for those of the kernel, gone at the end. Files keep
// their inode when they are written again, as the kernel's do.
#pragma once

#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>

namespace eroica {

class MadeUpFiles {
 public:
  MadeUpFiles()
      : path_(std::filesystem::temp_directory_path() /
              ("eroica_host_test_" + std::to_string(getpid()) + "_" + std::to_string(next_++))) {
    std::filesystem::create_directories(path_);
    std::filesystem::permissions(path_, std::filesystem::perms::owner_all);
  }
  MadeUpFiles(const MadeUpFiles&) = delete;
  MadeUpFiles& operator=(const MadeUpFiles&) = delete;
  ~MadeUpFiles() { std::filesystem::remove_all(path_); }

  std::string path() const { return path_.string(); }
  std::string At(const std::string& name) const { return (path_ / name).string(); }
  void Write(const std::string& name, std::string_view content) const {
    std::filesystem::create_directories((path_ / name).parent_path());
    std::ofstream(path_ / name, std::ios::binary | std::ios::trunc) << content;
  }
  void Remove(const std::string& name) const { std::filesystem::remove_all(path_ / name); }
  std::string Read(const std::string& name) const {
    std::ifstream file(path_ / name, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }

 private:
  static inline int next_ = 0;
  std::filesystem::path path_;
};

}  // namespace eroica
