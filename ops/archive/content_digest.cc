#include "ops/archive/content_digest.h"

#include <fmt/format.h>
#include <openssl/evp.h>

#include <array>
#include <cstring>

#include "schemas/check.h"

namespace eroica {

void ContentDigest::Free::operator()(evp_md_ctx_st* context) const { EVP_MD_CTX_free(context); }

ContentDigest::ContentDigest() : context_(EVP_MD_CTX_new()) {
  EROICA_CHECK(context_ != nullptr);
  EROICA_CHECK(EVP_DigestInit_ex(context_.get(), EVP_sha256(), nullptr) == 1);
}
ContentDigest::~ContentDigest() = default;
ContentDigest::ContentDigest(ContentDigest&&) noexcept = default;
ContentDigest& ContentDigest::operator=(ContentDigest&&) noexcept = default;

void ContentDigest::Add(const ConsumerRecord& record) {
  AddNumber(static_cast<uint64_t>(record.timestamp_ms));
  AddBytes(record.key);
  AddNumber(record.headers.size());
  for (const auto& [name, value] : record.headers) {
    AddBytes(name);
    AddBytes(value);
  }
  AddBytes(record.value);
}

void ContentDigest::AddNumber(uint64_t number) {
  std::array<unsigned char, sizeof(number)> bytes;
  for (size_t i = 0; i < bytes.size(); ++i)
    bytes[i] = static_cast<unsigned char>(number >> (8 * i));
  EROICA_CHECK(EVP_DigestUpdate(context_.get(), bytes.data(), bytes.size()) == 1);
}

void ContentDigest::AddBytes(std::string_view bytes) {
  AddNumber(bytes.size());
  EROICA_CHECK(EVP_DigestUpdate(context_.get(), bytes.data(), bytes.size()) == 1);
}

std::string ContentDigest::Finish() {
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest;
  unsigned int size = 0;
  EROICA_CHECK(EVP_DigestFinal_ex(context_.get(), digest.data(), &size) == 1);
  std::string hex;
  for (unsigned int i = 0; i < size; ++i) hex += fmt::format("{:02x}", digest[i]);
  return hex;
}

}  // namespace eroica
