#include "producers/cupti/nccl_plugin.h"

#include <gtest/gtest.h>

#include <cstdlib>

namespace eroica {
namespace {

TEST(NcclPlugin, IsAskedOfTheProcessUnlessTheUserSaidSo) {
  unsetenv("EROICA_CUPTI_COLLECTIVES");
  EXPECT_FALSE(NcclPluginQuestion()());  // this process has not loaded it
  setenv("EROICA_CUPTI_COLLECTIVES", "off", 1);
  const auto left_out = NcclPluginQuestion();
  setenv("EROICA_CUPTI_COLLECTIVES", "on", 1);
  const auto taken = NcclPluginQuestion();
  unsetenv("EROICA_CUPTI_COLLECTIVES");
  EXPECT_TRUE(left_out());  // the environment counts where the question is made
  EXPECT_FALSE(taken());
}

}  // namespace
}  // namespace eroica
