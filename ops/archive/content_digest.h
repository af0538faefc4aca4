// The SHA-256 of a sequence of records: of timestamps, keys, headers and values, each with its
// length. Offsets are left out, which a copy does not keep. One thread.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "stream_ops/log/log.h"

struct evp_md_ctx_st;  // OpenSSL's

namespace eroica {

class ContentDigest {
 public:
  ContentDigest();
  ~ContentDigest();
  ContentDigest(ContentDigest&&) noexcept;
  ContentDigest& operator=(ContentDigest&&) noexcept;

  void Add(const ConsumerRecord& record);
  // Of all that was added, in hex. Once.
  std::string Finish();

 private:
  struct Free {
    void operator()(evp_md_ctx_st* context) const;
  };
  void AddNumber(uint64_t number);
  void AddBytes(std::string_view bytes);

  std::unique_ptr<evp_md_ctx_st, Free> context_;
};

}  // namespace eroica
