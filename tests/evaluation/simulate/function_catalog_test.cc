#include "tests/evaluation/simulate/function_catalog.h"

#include <gtest/gtest.h>

namespace eroica::simulate {
namespace {

TEST(FunctionCatalog, SharesTheCallersOfStacks) {
  FunctionCatalog catalog;
  const uint32_t read =
      catalog.AddStack("train.py: main > dataset.py: __getitem__ > dataset.py: read");
  const uint32_t decode =
      catalog.AddStack("train.py: main > dataset.py: __getitem__ > dataset.py: decode");
  ASSERT_EQ(catalog.functions().size(), 4u);
  EXPECT_EQ(catalog.functions()[read].parent, catalog.functions()[decode].parent);
  EXPECT_EQ(catalog.functions()[read].name, "dataset.py: read");
  EXPECT_EQ(catalog.functions()[0].parent, kNoParent);
}

TEST(FunctionCatalog, KnowsAFunctionAgain) {
  FunctionCatalog catalog;
  const uint32_t kernel = catalog.Add("", "gemm", FunctionClass::kGpuCompute);
  EXPECT_EQ(catalog.Add("", "gemm", FunctionClass::kGpuCompute), kernel);
  EXPECT_NE(catalog.Add("", "gemm", FunctionClass::kCpuOp), kernel);
}

}  // namespace
}  // namespace eroica::simulate
