#include "producers/nccl/operation_names.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <string>

#include "producers/core/producer_core.h"
#include "producers/nccl/nccl_options.h"

namespace eroica::nccl {
namespace {

int OperationOf(const char* func) { return OperationNameAt(FindOperationName(func)).operation; }

TEST(OperationNames, KnowsNcclsFunctions) {
  EXPECT_EQ(OperationOf("AllReduce"), EROICA_ALL_REDUCE);
  EXPECT_EQ(OperationOf("Reduce"), EROICA_REDUCE);
  EXPECT_EQ(OperationOf("ReduceScatter"), EROICA_REDUCE_SCATTER);
  EXPECT_EQ(OperationOf("AllToAll"), EROICA_ALL_TO_ALL);
  EXPECT_EQ(OperationOf("AlltoAll"), EROICA_ALL_TO_ALL);
  EXPECT_EQ(OperationOf("Recv"), EROICA_RECV);
}

TEST(OperationNames, WhatIsNotKnownIsOther) {
  for (const char* func :
       {"", "All", "AllReduceX", "SendRecv", static_cast<const char*>(nullptr)}) {
    EXPECT_EQ(OperationOf(func), EROICA_UNKNOWN_OPERATION);
    EXPECT_EQ(std::string(OperationNameAt(FindOperationName(func)).function), "nccl:other");
  }
  EXPECT_EQ(OperationNameAt(-1).operation, EROICA_UNKNOWN_OPERATION);
  EXPECT_EQ(OperationNameAt(1'000).operation, EROICA_UNKNOWN_OPERATION);
}

TEST(OperationNames, BytesOfDatatypes) {
  EXPECT_EQ(BytesOfDatatype("ncclBfloat16"), 2u);
  EXPECT_EQ(BytesOfDatatype("ncclFloat64"), 8u);
  EXPECT_EQ(BytesOfDatatype("ncclFloat8e4m3"), 1u);
  EXPECT_EQ(BytesOfDatatype("Unknown"), 1u) << "NCCL's name for its unsigned byte";
  EXPECT_EQ(BytesOfDatatype("ncclFloat128"), 0u);
  EXPECT_EQ(BytesOfDatatype(""), 0u);
  EXPECT_EQ(BytesOfDatatype(nullptr), 0u);
}

TEST(NcclOptions, AreReadFromTheEnvironmentOrLeftAsTheyAre) {
  unsetenv("EROICA_NCCL_KERNEL_CHANNELS");
  unsetenv("EROICA_NCCL_PROXY_OPS");
  EXPECT_TRUE(NcclOptionsFromEnvironment().kernel_channels);
  EXPECT_EQ(NcclOptionsFromEnvironment().proxy_sampling, 0u);
  setenv("EROICA_NCCL_KERNEL_CHANNELS", "0", 1);
  setenv("EROICA_NCCL_PROXY_OPS", "128", 1);
  EXPECT_FALSE(NcclOptionsFromEnvironment().kernel_channels);
  EXPECT_EQ(NcclOptionsFromEnvironment().proxy_sampling, 128u);
  for (const char* nonsense : {"", "-1", "12x", "99999999999999999999", "1000001", " 5"}) {
    setenv("EROICA_NCCL_KERNEL_CHANNELS", nonsense, 1);
    setenv("EROICA_NCCL_PROXY_OPS", nonsense, 1);
    EXPECT_TRUE(NcclOptionsFromEnvironment().kernel_channels) << nonsense;
    EXPECT_EQ(NcclOptionsFromEnvironment().proxy_sampling, 0u) << nonsense;
  }
  unsetenv("EROICA_NCCL_KERNEL_CHANNELS");
  unsetenv("EROICA_NCCL_PROXY_OPS");
}

}  // namespace
}  // namespace eroica::nccl
