#include <gmock/gmock.h>
#include <stdlib.h>

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

TEST_F(HostPositions, FailWhereNobodyTells) {
  EXPECT_THAT(test::error_of([] { host_position(); }), HasSubstr("OMPI_COMM_WORLD_RANK"));
}

TEST_F(HostPositions, RefuseNonsense) {
  setenv("SLURM_PROCID", "two", 1);
  setenv("SLURM_NTASKS", "4", 1);
  EXPECT_THAT(test::error_of([] { host_position(); }), HasSubstr("'two'"));
  setenv("SLURM_PROCID", "4", 1);
  EXPECT_THAT(test::error_of([] { host_position(); }), HasSubstr("SLURM_PROCID is 4"));
}

}  // namespace
}  // namespace evener::comm
