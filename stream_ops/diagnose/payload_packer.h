// Payloads that wait for their window in little memory: zstd at its fastest level, each by itself,
// with another payload of its kind as dictionary: ranks run the same functions, so that names and
// most numbers are there. Owner: the diagnose task; its thread.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

struct ZSTD_CCtx_s;
struct ZSTD_DCtx_s;

namespace eroica {

// A payload, packed where that makes it smaller.
struct PackedPayload {
  std::string bytes;
  size_t payload_bytes = 0;  // of the payload; as many as `bytes` where it is not packed
};

class PayloadPacker {
 public:
  PayloadPacker();
  ~PayloadPacker();
  PayloadPacker(PayloadPacker&&) noexcept;
  PayloadPacker& operator=(PayloadPacker&&) noexcept;

  // dictionary: any payload of the kind, or nothing; Unpack needs the same.
  PackedPayload Pack(std::string_view payload, std::string_view dictionary);
  // What Pack was given. Valid until the next call; empty where the memory for it is not there, or
  // the dictionary is another one.
  std::string_view Unpack(const PackedPayload& packed, std::string_view dictionary);

 private:
  struct Free {
    void operator()(ZSTD_CCtx_s* context) const;
    void operator()(ZSTD_DCtx_s* context) const;
  };
  std::unique_ptr<ZSTD_CCtx_s, Free> compression_;  // null until something is packed
  std::unique_ptr<ZSTD_DCtx_s, Free> decompression_;
  std::string room_;
};

}  // namespace eroica
