// Hosts that are connected: HostLinks.* start this program again under mpirun, where HostLinkRank.* are the hosts'
// parts. Both run on this machine, which the two names have in common.
#include <gmock/gmock.h>
#include <stdlib.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include "base/host_name.h"
#include "base/module.h"
#include "base/thrown.h"
#include "comm/host_group.h"
#include "parallel/hosts.h"
#include "support/run_program.h"

namespace evener::parallel {
namespace {

using evener::test::ProgramResult;
using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;

class HostLinkRank : public testing::Test {
 protected:
  void SetUp() override {
    if (getenv("OMPI_COMM_WORLD_RANK") == nullptr) {
      GTEST_SKIP() << "a host's part of the tests HostLinks.*, which start it through mpirun";
    }
    host_ = comm::host_position().host;
  }
  HostsOptions options(const std::string& images) const {
    return {host_, 2, {{"number of images", images, "copy them"}}};
  }

  int host_ = 0;
};

TEST_F(HostLinkRank, Exchange) {
  HostLink link(options("500"), 2);
  EXPECT_THAT(link.names(), ElementsAre(host_name(), host_name()));
  link.watch([](const std::string& what) { ADD_FAILURE() << what; });
  const auto first = link.channel(0), second = link.channel(1);
  EXPECT_EQ(first->rank(), host_);
  EXPECT_EQ(second->size(), 2);
  std::vector<float> values(10, static_cast<float>(host_ + 1));
  second->all_reduce(std::span<float>(values));
  EXPECT_THAT(values, Each(3.0F));
  EXPECT_THAT(link.gather(std::string(static_cast<std::size_t>(host_) + 1, 'x')), ElementsAre("x", "xx"));
  first->barrier();
  link.close();
}

TEST_F(HostLinkRank, Differ) {
  const std::string message = evener::test::thrown_by([&] { HostLink(options(host_ == 0 ? "500" : "499"), 1); });
  while (host_ == 0) pause();  // until mpirun is ended
  std::fprintf(stderr, "told: %s\n", message.c_str());
  std::fflush(nullptr);
  _exit(3);  // mpirun ends the other
}

class HostLinks : public testing::Test {
 protected:
  void SetUp() override {
    const ModuleStatus status = module_status("mpi");
    if (status.state == ModuleState::kNotBuilt) GTEST_SKIP() << "built without MPI: " << status.reason;
    if (std::system("command -v mpirun >/dev/null 2>&1") != 0) GTEST_SKIP() << "there is no mpirun";
  }

  static ProgramResult run(const std::string& test) {
    std::vector<std::string> words = {"-np", "2", "--map-by", ":OVERSUBSCRIBE", "--bind-to", "none"};
    if (geteuid() == 0) words.emplace_back("--allow-run-as-root");
    words.push_back(std::filesystem::read_symlink("/proc/self/exe").string());
    words.insert(words.end(), {"--gtest_filter=HostLinkRank." + test, "--gtest_color=no"});
    evener::test::ProgramOptions options;
    options.environment["OMPI_MCA_btl_vader_single_copy_mechanism"] = "none";
    return evener::test::RunningProgram("mpirun", words, options).finish();
  }
};

TEST_F(HostLinks, KnowTheOthersNamesAndHaveChannelsOfTheirOwn) {
  const ProgramResult result = run("Exchange");
  EXPECT_EQ(result.exit_code, 0) << result.out << result.err;
  EXPECT_THAT(result.out, HasSubstr("PASSED  ] 1 test"));
}

TEST_F(HostLinks, ThatDifferAreRefused) {
  const ProgramResult result = run("Differ");
  EXPECT_EQ(result.exit_code, 3) << result.out << result.err;
  EXPECT_THAT(result.err, HasSubstr("told: the hosts are not at the same work: the number of images is 500 on "));
}

}  // namespace
}  // namespace evener::parallel
