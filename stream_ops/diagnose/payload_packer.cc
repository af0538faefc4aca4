#include "stream_ops/diagnose/payload_packer.h"

#include <zstd.h>

namespace eroica {
namespace {

constexpr int kFastest = 1;

}  // namespace

void PayloadPacker::Free::operator()(ZSTD_CCtx_s* context) const { ZSTD_freeCCtx(context); }
void PayloadPacker::Free::operator()(ZSTD_DCtx_s* context) const { ZSTD_freeDCtx(context); }

PayloadPacker::PayloadPacker() = default;
PayloadPacker::~PayloadPacker() = default;
PayloadPacker::PayloadPacker(PayloadPacker&&) noexcept = default;
PayloadPacker& PayloadPacker::operator=(PayloadPacker&&) noexcept = default;

PackedPayload PayloadPacker::Pack(std::string_view payload, std::string_view dictionary) {
  PackedPayload packed{.bytes = {}, .payload_bytes = payload.size()};
  if (compression_ == nullptr) compression_.reset(ZSTD_createCCtx());
  if (compression_ != nullptr) {
    room_.resize(ZSTD_compressBound(payload.size()));
    const size_t size =
        ZSTD_compress_usingDict(compression_.get(), room_.data(), room_.size(), payload.data(),
                                payload.size(), dictionary.data(), dictionary.size(), kFastest);
    if (ZSTD_isError(size) == 0 && size < payload.size()) {
      packed.bytes.assign(room_, 0, size);
      return packed;
    }
  }
  packed.bytes = payload;
  return packed;
}

std::string_view PayloadPacker::Unpack(const PackedPayload& packed, std::string_view dictionary) {
  if (packed.bytes.size() == packed.payload_bytes) return packed.bytes;
  if (decompression_ == nullptr) decompression_.reset(ZSTD_createDCtx());
  if (decompression_ == nullptr) return {};
  room_.resize(packed.payload_bytes);
  const size_t size = ZSTD_decompress_usingDict(decompression_.get(), room_.data(), room_.size(),
                                                packed.bytes.data(), packed.bytes.size(),
                                                dictionary.data(), dictionary.size());
  return ZSTD_isError(size) != 0 ? std::string_view() : std::string_view(room_).substr(0, size);
}

}  // namespace eroica
