#include "ops/rest/body_reader.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "ops/rest/head_scan.h"

namespace eroica::rest {
namespace {

constexpr MessageLimits kLimits{.head_bytes = 64,
                                .head_lines = 3,
                                .body_bytes = 16,
                                .trailer_bytes = 12,
                                .chunk_extension_bytes = 10};

struct Read {
  MessageFault fault = MessageFault::kNone;
  bool done = false;
  std::string body;
  size_t left = 0;  // bytes that are the next message's

  friend bool operator==(const Read&, const Read&) = default;
};

// As it comes in pieces of so many bytes.
Read InPieces(const BodyFraming& framing, std::string_view bytes, size_t piece) {
  BodyReader reader(framing, kLimits);
  while (!bytes.empty() && !reader.done() && !reader.error()) {
    const size_t taken = reader.Take(bytes.substr(0, piece));
    EXPECT_TRUE(taken > 0 || reader.error());
    bytes.remove_prefix(taken);
  }
  Read read{.fault = reader.error().fault, .done = reader.done(), .left = bytes.size()};
  read.body = reader.TakeBody();
  return read;
}

// The same, however it is cut.
Read ReadAll(const BodyFraming& framing, std::string_view bytes) {
  Read whole = InPieces(framing, bytes, bytes.size() + 1);
  for (size_t piece = 1; piece < bytes.size(); ++piece) {
    Read pieces = InPieces(framing, bytes, piece);
    if (whole.fault != MessageFault::kNone) pieces.left = whole.left;
    EXPECT_EQ(pieces.fault, whole.fault) << bytes << " in pieces of " << piece;
    EXPECT_EQ(pieces.done, whole.done);
    EXPECT_EQ(pieces.left, whole.left);
  }
  return whole;
}
Read Chunks(std::string_view bytes) {
  return ReadAll({.kind = BodyFraming::Kind::kChunked}, bytes);
}
Read OfLength(uint64_t length, std::string_view bytes) {
  return ReadAll({.length = length}, bytes);
}

TEST(BodyReader, TakesItsLengthAndLeavesTheNextMessage) {
  EXPECT_EQ(OfLength(3, "abcGET"), (Read{.done = true, .body = "abc", .left = 3}));
  EXPECT_EQ(OfLength(0, "GET"), (Read{.done = true, .left = 3}));
  EXPECT_EQ(OfLength(4, "abc"), (Read{.done = false, .body = "abc"}));
}

TEST(BodyReader, ALengthBeyondTheLimitIsRefusedBeforeAByteOfIt) {
  for (const uint64_t length : {uint64_t{17}, uint64_t{1} << 40, ~uint64_t{0}}) {
    BodyReader reader({.length = length}, kLimits);
    EXPECT_EQ(reader.error().fault, MessageFault::kBodyTooLarge);
    EXPECT_LT(reader.TakeBody().capacity(), 64U);
  }
}

TEST(BodyReader, TakesChunksAndDropsExtensionsAndTrailers) {
  EXPECT_EQ(Chunks("3\r\nabc\r\n0\r\n\r\nGET"), (Read{.done = true, .body = "abc", .left = 3}));
  EXPECT_EQ(Chunks("2;a=1\r\nab\r\n00A ;b\r\n0123456789\r\n0\r\nHost: b\r\n\r\n"),
            (Read{.done = true, .body = "ab0123456789"}));
  EXPECT_FALSE(Chunks("3\r\nabc\r\n0\r\n").done);
}

TEST(BodyReader, EveryPartOfAChunkedBodyHasALimit) {
  EXPECT_EQ(Chunks("11\r\n").fault, MessageFault::kBodyTooLarge);
  EXPECT_EQ(Chunks("9\r\n123456789\r\n9\r\n").fault, MessageFault::kBodyTooLarge);
  EXPECT_EQ(Chunks("1;123456789\r\n").fault, MessageFault::kNone);
  EXPECT_EQ(Chunks("1;1234567890\r\n").fault, MessageFault::kMalformed);
  EXPECT_EQ(Chunks("1;12345\r\nx\r\n1;12345\r\n").fault, MessageFault::kMalformed)
      << "of all chunks together";
  EXPECT_EQ(Chunks("0\r\na: 3456789012\r\n\r\n").fault, MessageFault::kHeadTooLarge);
  EXPECT_EQ(Chunks("0\r\na: 456\r\nb: 4567\r\n\r\n").fault, MessageFault::kHeadTooLarge);
  EXPECT_EQ(Chunks(std::string(17, '0') + "\r\n\r\n").fault, MessageFault::kMalformed);
}

TEST(BodyReader, WhatIsNoChunkIsRefused) {
  for (const std::string_view bytes : {"\r\n", "x\r\n", "-1\r\n", "1\nx", "1\r\nxy\r\n", "1\r\nx\n",
                                       "0\r\n\n", "0\r\r", "0x1\r\n"})
    EXPECT_EQ(Chunks(bytes).fault, MessageFault::kMalformed) << bytes;
}

TEST(BodyReader, ABodyUpToTheEndIsBoundedToo) {
  BodyReader reader({.kind = BodyFraming::Kind::kToEnd}, kLimits);
  EXPECT_EQ(reader.Take("0123456789abcdef"), 16U);
  EXPECT_FALSE(reader.error());
  reader.Take("x");
  EXPECT_EQ(reader.error().fault, MessageFault::kBodyTooLarge);
  BodyReader whole({.kind = BodyFraming::Kind::kToEnd}, kLimits);
  whole.Take("abc");
  whole.End();
  EXPECT_TRUE(whole.done());
  EXPECT_EQ(whole.TakeBody(), "abc");
}

TEST(BodyReader, AnEndWithinTheBodyIsSaid) {
  BodyReader reader({.length = 3}, kLimits);
  reader.Take("ab");
  reader.End();
  EXPECT_EQ(reader.error().fault, MessageFault::kEnded);
}

TEST(HeadScan, FindsTheEmptyLine) {
  HeadScan scan(kLimits);
  EXPECT_EQ(scan.Take("GET / HTTP/1.1\r\nHost: a\r\n\r"), 26U);
  EXPECT_FALSE(scan.ended());
  EXPECT_EQ(scan.Take("\nbody"), 1U);
  EXPECT_TRUE(scan.ended());
  EXPECT_FALSE(scan.error());
}

TEST(HeadScan, BytesAndLinesAreBounded) {
  HeadScan lines(kLimits);
  lines.Take("GET / HTTP/1.1\r\na:\r\nb:\r\nc:\r\n\r\n");
  EXPECT_TRUE(lines.ended());
  EXPECT_FALSE(lines.error());
  HeadScan more_lines(kLimits);
  more_lines.Take("GET / HTTP/1.1\r\na:\r\nb:\r\nc:\r\nd:\r\n\r\n");
  EXPECT_EQ(more_lines.error().fault, MessageFault::kHeadTooLarge);
  HeadScan bytes(kLimits);
  EXPECT_LE(bytes.Take(std::string(1'000, 'a')), 65U);
  EXPECT_EQ(bytes.error().fault, MessageFault::kHeadTooLarge);
}

}  // namespace
}  // namespace eroica::rest
