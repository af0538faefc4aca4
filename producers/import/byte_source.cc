#include "producers/import/byte_source.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>
#include <zlib.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <vector>

#include "schemas/file_access.h"

namespace eroica {
namespace {

struct FileCloser {
  void operator()(std::FILE* file) const { std::fclose(file); }
};
using File = std::unique_ptr<std::FILE, FileCloser>;

class PlainSource final : public ByteSource {
 public:
  explicit PlainSource(File file) : file_(std::move(file)) {}

  size_t Read(char* out, size_t size) override {
    const size_t read = std::fread(out, 1, size, file_.get());
    file_bytes_read_ += read;
    if (read < size && std::ferror(file_.get()) != 0 && damage_.empty()) {
      damage_ = fmt::format("reading stopped: {}", std::strerror(errno));
    }
    return read;
  }

 private:
  File file_;
};

// Members of a gzip file follow each other (pigz, concatenated files): the decoder starts anew at
// each.
class GzipSource final : public ByteSource {
 public:
  explicit GzipSource(File file) : file_(std::move(file)), input_(kInputBytes) {
    stream_ = {};
    initialized_ = inflateInit2(&stream_, 16 + MAX_WBITS) == Z_OK;
    if (!initialized_) damage_ = "the gzip decoder could not be started (out of memory)";
  }
  GzipSource(const GzipSource&) = delete;
  GzipSource& operator=(const GzipSource&) = delete;
  ~GzipSource() override {
    if (initialized_) inflateEnd(&stream_);
  }

  size_t Read(char* out, size_t size) override {
    size_t produced = 0;
    while (produced < size && damage_.empty() && !ended_)
      produced += Inflate(out + produced, size - produced);
    return produced;
  }

 private:
  static constexpr size_t kInputBytes = size_t{256} << 10;

  // Whether there is input left to decode; notes what a missing rest means.
  bool FillInput() {
    if (stream_.avail_in > 0) return true;
    const size_t read = std::fread(input_.data(), 1, input_.size(), file_.get());
    file_bytes_read_ += read;
    stream_.next_in = input_.data();
    stream_.avail_in = static_cast<uInt>(read);
    if (read > 0) return true;
    if (std::ferror(file_.get()) != 0) {
      damage_ = fmt::format("reading stopped: {}", std::strerror(errno));
    } else if (!between_members_) {
      damage_ = "the gzip data is cut off";
    }
    ended_ = true;
    return false;
  }

  size_t Inflate(char* out, size_t size) {
    if (!FillInput()) return 0;
    if (between_members_ && !StartMember()) return 0;
    const auto room = static_cast<uInt>(std::min<size_t>(size, size_t{1} << 30));
    stream_.next_out = reinterpret_cast<Bytef*>(out);
    stream_.avail_out = room;
    const int result = inflate(&stream_, Z_NO_FLUSH);
    if (result == Z_STREAM_END) {
      between_members_ = true;
    } else if (result != Z_OK && result != Z_BUF_ERROR) {
      damage_ = fmt::format("the gzip data is corrupt ({})",
                            stream_.msg != nullptr ? stream_.msg : "bad data");
    }
    return room - stream_.avail_out;
  }

  // After a member: another one, or padding, which ends the content.
  bool StartMember() {
    if (seen_member_ && *stream_.next_in != 0x1f) {
      ended_ = true;
      return false;
    }
    if (seen_member_) inflateReset(&stream_);
    seen_member_ = true;
    between_members_ = false;
    return true;
  }

  File file_;
  std::vector<Bytef> input_;
  z_stream stream_;
  bool initialized_ = false;
  bool between_members_ = true;
  bool seen_member_ = false;
  bool ended_ = false;
};

absl::Status CannotOpen(const std::filesystem::path& path, int error) {
  const std::string what = fmt::format("{}: {}", path.string(), OpenErrorText(error));
  switch (error) {
    case ENOENT: return absl::NotFoundError(fmt::format("{}: no such file", path.string()));
    case EISDIR:
    case ENXIO:
      return absl::InvalidArgumentError(
          fmt::format("{}: not a regular file: {}; write the trace to a file and name that",
                      path.string(), OpenErrorText(error)));
    default: return absl::PermissionDeniedError(what);
  }
}

}  // namespace

absl::StatusOr<std::unique_ptr<ByteSource>> ByteSource::Open(const std::filesystem::path& path) {
  const int fd = OpenFile(path.string(), O_RDONLY);
  if (fd < 0) return CannotOpen(path, errno);
  File file(::fdopen(fd, "rb"));
  if (file == nullptr) {
    const int error = errno;
    ::close(fd);
    return CannotOpen(path, error);
  }
  std::array<unsigned char, 2> magic{};
  const size_t read = std::fread(magic.data(), 1, magic.size(), file.get());
  std::rewind(file.get());
  std::unique_ptr<ByteSource> source;
  if (read == 2 && magic[0] == 0x1f && magic[1] == 0x8b) {
    source = std::make_unique<GzipSource>(std::move(file));
  } else {
    source = std::make_unique<PlainSource>(std::move(file));
  }
  return source;
}

}  // namespace eroica
