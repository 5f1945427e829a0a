#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <bit>
#include <cmath>

#include "comm/communication_dtype.h"
#include "comm/host_group.h"
#include "comm/ranks_helpers.h"

namespace evener::comm {
namespace {

using testing::HasSubstr;

class HostPositions : public testing::Test {
 protected:
  HostPositions() { forget(); }
  ~HostPositions() override { forget(); }

  static void forget() {
    for (const char* name : {"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "SLURM_PROCID", "SLURM_NTASKS"}) {
      unsetenv(name);
    }
  }
};

TEST_F(HostPositions, AreMpirunsBeforeSlurms) {
  setenv("SLURM_PROCID", "0", 1);
  setenv("SLURM_NTASKS", "4", 1);
  EXPECT_EQ(host_position().hosts, 4);
  setenv("OMPI_COMM_WORLD_RANK", "1", 1);
  setenv("OMPI_COMM_WORLD_SIZE", "2", 1);
  EXPECT_EQ(host_position().host, 1);
  EXPECT_EQ(host_position().hosts, 2);
}

TEST_F(HostPositions, AreSlurmsWhereMpirunTellsHalf) {
  setenv("OMPI_COMM_WORLD_RANK", "1", 1);
  EXPECT_THAT(test::error_of([] { host_position(); }), HasSubstr("neither"));
  setenv("SLURM_PROCID", "2", 1);
  setenv("SLURM_NTASKS", "3", 1);
  EXPECT_EQ(host_position().host, 2);
  EXPECT_EQ(host_position().hosts, 3);
}

TEST_F(HostPositions, FailWhereNobodyTells) {
  EXPECT_THAT(test::error_of([] { host_position(); }), HasSubstr("OMPI_COMM_WORLD_RANK"));
}

TEST_F(HostPositions, RefuseNonsense) {
  setenv("SLURM_PROCID", "two", 1);
  setenv("SLURM_NTASKS", "4", 1);
  EXPECT_THAT(test::error_of([] { host_position(); }), HasSubstr("'two'"));
  setenv("SLURM_PROCID", "4", 1);
  EXPECT_THAT(test::error_of([] { host_position(); }), HasSubstr("SLURM_PROCID is 4 but SLURM_NTASKS is 4"));
  setenv("SLURM_PROCID", "-1", 1);
  EXPECT_THAT(test::error_of([] { host_position(); }), HasSubstr("SLURM_PROCID is '-1'"));
  setenv("SLURM_PROCID", "0", 1);
  setenv("SLURM_NTASKS", "many", 1);
  EXPECT_THAT(test::error_of([] { host_position(); }), HasSubstr("SLURM_NTASKS is 'many'"));
}

// What float32 values become on their way as bfloat16.

TEST(CommunicationDtype, ValuesAreRoundedToTheNearestBfloat16AndTiesToTheEvenOne) {
  struct Case {
    std::uint32_t from;
    std::uint16_t to;
  };
  for (const Case& one : {Case{0x3f800000, 0x3f80}, Case{0x3f807fff, 0x3f80}, Case{0x3f808000, 0x3f80},
                          Case{0x3f808001, 0x3f81}, Case{0x3f818000, 0x3f82}, Case{0x3f817fff, 0x3f81},
                          Case{0xbf808000, 0xbf80}, Case{0xbf818000, 0xbf82}, Case{0x7f7f8000, 0x7f80}}) {
    EXPECT_EQ(narrowed(std::bit_cast<float>(one.from)).bits, one.to) << one.from;
  }
  for (const std::uint32_t nan : {0x7fffffffU, 0xffffffffU, 0x7f800001U}) {
    EXPECT_TRUE(std::isnan(widened(narrowed(std::bit_cast<float>(nan))))) << nan;
  }
}

}  // namespace
}  // namespace evener::comm
