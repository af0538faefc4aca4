#include "producers/export/trace_output.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>
#include <zlib.h>

#include <cerrno>
#include <cstring>

namespace eroica {
namespace {

absl::Status CannotWrite(const std::string& path, int error) {
  return absl::UnavailableError(
      fmt::format("cannot write {}: {}", path, error == 0 ? "no space" : std::strerror(error)));
}

}  // namespace

absl::StatusOr<std::unique_ptr<TraceOutput>> TraceOutput::Create(const std::string& path) {
  const int fd = ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  if (fd < 0 && errno == EEXIST)
    return absl::AlreadyExistsError(
        fmt::format("{} is there already: name another file, or delete it", path));
  if (fd < 0) return CannotWrite(path, errno);
  // T: as it is, without compression.
  gzFile file = ::gzdopen(fd, path.ends_with(".gz") ? "wb6" : "wbT");
  if (file == nullptr) {
    ::close(fd);
    ::unlink(path.c_str());
    return CannotWrite(path, ENOMEM);
  }
  constexpr unsigned kBuffer = 1u << 18;
  ::gzbuffer(file, kBuffer);
  return std::unique_ptr<TraceOutput>(new TraceOutput(path, file));
}

TraceOutput::~TraceOutput() {
  if (file_ == nullptr) return;
  ::gzclose(static_cast<gzFile>(file_));
  ::unlink(path_.c_str());
}

absl::Status TraceOutput::Write(std::string_view text) {
  constexpr size_t kAtOnce = size_t{1} << 20;
  while (!text.empty()) {
    const std::string_view part = text.substr(0, kAtOnce);
    errno = 0;
    if (::gzwrite(static_cast<gzFile>(file_), part.data(), static_cast<unsigned>(part.size())) <= 0)
      return CannotWrite(path_, errno);
    bytes_ += part.size();
    text.remove_prefix(part.size());
  }
  return absl::OkStatus();
}

absl::Status TraceOutput::Close() {
  errno = 0;
  const int closed = ::gzclose(static_cast<gzFile>(file_));
  file_ = nullptr;
  if (closed == Z_OK) return absl::OkStatus();
  const absl::Status status = CannotWrite(path_, errno);
  ::unlink(path_.c_str());
  return status;
}

}  // namespace eroica
