#include "stream_ops/diagnose/payload_packer.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <random>
#include <string>

namespace eroica {
namespace {

std::string Noise(size_t size) {
  std::mt19937 random(7);
  std::string noise(size, '\0');
  for (char& byte : noise) byte = static_cast<char>(random());
  return noise;
}

TEST(PayloadPacker, GivesBackWhatItWasGiven) {
  PayloadPacker packer;
  for (const std::string& payload : {std::string(), std::string("x"), std::string(20'000, 'a'),
                                     Noise(20'000), Noise(1'000) + std::string(1'000, 'b')}) {
    for (const std::string& dictionary : {std::string(), std::string("x"), Noise(1'500)}) {
      const PackedPayload packed = packer.Pack(payload, dictionary);
      EXPECT_EQ(packed.payload_bytes, payload.size());
      EXPECT_LE(packed.bytes.size(), payload.size());
      EXPECT_TRUE(packer.Unpack(packed, dictionary) == payload);
    }
  }
}

// As names of functions are: each of its own, and the same on every rank.
std::string Names(int of_rank) {
  std::string names;
  for (int i = 0; i < 400; ++i) names += fmt::format("layer_{}_kernel_{};", i, i * 7'919 % 10'007);
  return names + fmt::format("rank {}", of_rank);
}

TEST(PayloadPacker, WhatTheDictionaryHasTakesNearlyNothing) {
  PayloadPacker packer;
  const std::string payload = Names(1);
  const size_t alone = packer.Pack(payload, {}).bytes.size();
  const size_t like_another = packer.Pack(payload, Names(0)).bytes.size();
  EXPECT_LT(alone, payload.size());
  EXPECT_LT(like_another, alone / 4);
}

TEST(PayloadPacker, AnotherDictionaryGivesNeitherThePayloadNorMoreThanItHad) {
  PayloadPacker packer;
  const std::string payload = Names(1);
  const PackedPayload packed = packer.Pack(payload, Names(0));
  for (const std::string& other : {std::string(), Noise(1'500)}) {
    const std::string_view unpacked = packer.Unpack(packed, other);
    EXPECT_LE(unpacked.size(), payload.size());
    EXPECT_TRUE(unpacked != payload);
  }
}

TEST(PayloadPacker, MovedItWorksOn) {
  PayloadPacker first;
  const PackedPayload packed = first.Pack(std::string(20'000, 'a'), {});
  PayloadPacker second = std::move(first);
  EXPECT_TRUE(second.Unpack(packed, {}) == std::string(20'000, 'a'));
}

}  // namespace
}  // namespace eroica
