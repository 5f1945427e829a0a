// The parts of a run on several hosts that need no second host: lists of names, command lines, words about failures.
#include "parallel/hosts.h"

#include <gmock/gmock.h>
#include <stdlib.h>

#include <fstream>

#include "base/error.h"
#include "base/test_folder.h"
#include "base/thrown.h"
#include "parallel/launcher.h"

namespace evener::parallel {
namespace {

using evener::test::TestFolder;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::StartsWith;

TEST(HostLists, AreNamesOrAFile) {
  EXPECT_THAT(parse_hosts("a,b.c-d"), ElementsAre("a", "b.c-d"));
  const TestFolder folder;
  std::ofstream(folder / "hosts") << "# ours\n\nnode1 slots=8\nnode2  # the old one\n";
  EXPECT_THAT(parse_hosts((folder / "hosts").string()), ElementsAre("node1", "node2"));
  std::ofstream(folder / "marked") << "\xEF\xBB\xBFnode1\r\n";
  EXPECT_THAT(parse_hosts((folder / "marked").string()), ElementsAre("node1"));
  std::ofstream(folder / "zeros") << std::string("node1\0node2 slots=2\0", 20);
  EXPECT_THAT(parse_hosts((folder / "zeros").string()), ElementsAre("node1", "node2"));
  std::ofstream(folder / "none") << "# nobody\n";
  EXPECT_THAT(evener::test::thrown_by<UsageError>([&] { parse_hosts((folder / "none").string()); }),
              HasSubstr("names no host"));
  for (const std::string& missing : {std::string("hosts.txt"), std::string("./hosts"), (folder / "gone").string()}) {
    EXPECT_THAT(evener::test::thrown_by<UsageError>([&] { parse_hosts(missing); }),
                HasSubstr("there is no file '" + missing + "'"));
  }
}

TEST(HostLists, RefuseWhatCouldBeAnOption) {
  for (const char* text : {"a,-oProxyCommand=x", "a b", "a,,b", "a;b", "a,a", ","}) {
    EXPECT_THAT(evener::test::thrown_by<UsageError>([&] { parse_hosts(text); }), Not(HasSubstr("nothing"))) << text;
  }
}

TEST(HostLists, TellTheFormThatIsRight) {
  const char* const rows[][3] = {
      {"node1:4", "'node1:4' is no name of a host: slots and ports", "give --hosts node1, or a file"},
      {"node1:4,me@node2:2", "slots and ports", "give --hosts node1,node2, or a file"},
      {"node1, node2", "' node2' is no name of a host: between names there is a comma", "--hosts node1,node2, or"},
      {"node1;node2", "between names there is a comma", "--hosts node1,node2, or"},
      {"node1,", "'' is no name of a host: a name is missing beside a comma", "--hosts node1, or"},
      {"node1,,node2", "a name is missing", "--hosts node1,node2, or"},
      {"", "a name is missing", "--hosts a,b, or"},
      {"me@node1", "~/.ssh/config", "--hosts node1, or"},
      {"node[1-3]", "each name is written out", "--hosts a,b, or"},
      {"fe80::1,node2", "an IPv6 address", "node2, or"},
      {"-oProxyCommand=x", "other characters", "--hosts a,b, or"}};
  for (const auto& [text, what, form] : rows) {
    EXPECT_THAT(evener::test::thrown_by<UsageError>([&] { parse_hosts(text); }),
                AllOf(HasSubstr(what), HasSubstr(form)))
        << text;
  }
  const TestFolder folder;
  const std::string file = (folder / "hosts").string();
  const auto refusal = [&](const char* line) {
    std::ofstream(file) << "# ours\nnode0\n" << line << "\n";
    return evener::test::thrown_by<UsageError>([&] { parse_hosts(file); });
  };
  const std::string in_file = " in the file '" + file + "', one to a line";
  EXPECT_THAT(refusal("node1:4  # big"), AllOf(HasSubstr("slots and ports"), HasSubstr("give node1" + in_file)));
  EXPECT_THAT(refusal("node1, node2"), AllOf(HasSubstr("a line of its own"), HasSubstr("give node1,node2" + in_file)));
}

TEST(HostLists, OfSlurm) {
  EXPECT_THAT(expand_slurm_nodes("n[008-010,12],login,m[1]"),
              ElementsAre("n008", "n009", "n010", "n12", "login", "m1"));
  for (const char* text : {"n[3-1]", "n[1", "n[a]", "n[1-99999999]", "", "n[1]x"}) {
    EXPECT_THAT(evener::test::thrown_by<UsageError>([&] { expand_slurm_nodes(text); }), Not(HasSubstr("nothing")))
        << text;
  }
}

class Variables : public testing::Test {
 protected:
  void set(const char* name, const char* value) {
    setenv(name, value, 1);
    names_.push_back(name);
  }
  ~Variables() override {
    for (const char* name : names_) unsetenv(name);
  }

 private:
  std::vector<const char*> names_;
};

TEST_F(Variables, AnAllocationOfSlurmIsFound) {
  EXPECT_THAT(slurm_hosts(), IsEmpty());
  set("SLURM_JOB_NODELIST", "n[1-2]");
  EXPECT_THAT(slurm_hosts(), ElementsAre("n1", "n2"));
  set("SLURM_STEP_NUM_TASKS", "2");
  EXPECT_THAT(evener::test::thrown_by<UsageError>([] { slurm_hosts(); }), HasSubstr("without srun"));
  unsetenv("SLURM_STEP_NUM_TASKS");
  set("SLURM_JOB_NODELIST", "n1");
  EXPECT_THAT(slurm_hosts(), IsEmpty()) << "one host is no more than this one";
}

class StarterWords : public Variables {
 protected:
  StarterWords() : path_(getenv("PATH")) { set_path("mpirun"); }
  ~StarterWords() override { setenv("PATH", path_.c_str(), 1); }

  /// PATH with one program in it.
  void set_path(const std::string& program) {
    std::filesystem::remove_all(folder_ / "bin");
    std::filesystem::create_directories(folder_ / "bin");
    std::ofstream(folder_ / "bin" / program) << "#!/bin/sh\n";
    std::filesystem::permissions(folder_ / "bin" / program, std::filesystem::perms::owner_all);
    setenv("PATH", (folder_ / "bin").c_str(), 1);
  }
  std::string words() const {
    std::string text;
    for (const auto& word : starter_words(launch_)) text += word + " ";
    return text;
  }

  TestFolder folder_;
  std::string path_;
  HostLaunch launch_{{"a", "b"}, false, "/opt/evener", {"train", "m"}};
};

TEST_F(StarterWords, OneProcessOnEachHostNotBound) {
  EXPECT_THAT(words(), StartsWith("mpirun --host a:1,b:1 -np 2 --map-by ppr:1:node --bind-to none "));
  EXPECT_THAT(words(), HasSubstr(" /opt/evener train m "));
  EXPECT_EQ(words().find("--allow-run-as-root") != std::string::npos, geteuid() == 0);
}

TEST_F(StarterWords, LeaveTheUsersSettings) {
  EXPECT_THAT(words(), HasSubstr("btl_vader_single_copy_mechanism none"));
  set("OMPI_MCA_btl_vader_single_copy_mechanism", "cma");
  EXPECT_THAT(words(), Not(HasSubstr("btl_vader_single_copy_mechanism")));
}

TEST_F(StarterWords, PassOurVariablesOn) {
  set("EVENER_MODULE_DIR", "/somewhere");
  EXPECT_THAT(words(), HasSubstr(" -x EVENER_MODULE_DIR "));
}

TEST_F(StarterWords, SrunServesWhereMpirunIsMissing) {
  set_path("srun");
  EXPECT_THROW(words(), Error);
  launch_.slurm = true;
  EXPECT_THAT(words(), StartsWith("srun --nodes=2 --ntasks=2 --ntasks-per-node=1 --mpi=pmix --kill-on-bad-exit=1 "));
}

/// What people get of the lines, and what is said at the end.
std::string said(const std::vector<std::string>& lines, std::string* passed = nullptr) {
  HostReport report(2);
  for (const auto& line : lines) {
    if (report.take(line) && passed != nullptr) *passed += line + "|";
  }
  return report.text();
}

const std::string kDashes(76, '-');

TEST(HostReports, AHostsOwnMessageComesFirst) {
  std::string passed;
  EXPECT_EQ(said({"epoch 1", kDashes, "Primary job  terminated normally, but 1 process returned", kDashes,
                  "evener: on host b: no space", "evener: on host a: called off"},
                 &passed),
            "on host b: no space");
  EXPECT_EQ(passed, "epoch 1|");
}

TEST(HostReports, AKilledProcessIsNamedWithItsHost) {
  EXPECT_EQ(
      said({kDashes, "mpirun noticed that process rank 1 with PID 0 on node b exited on signal 9 (Killed).", kDashes}),
      "host b (host 1 of 2) was lost: its process was ended by signal 9 (Killed)");
}

TEST(HostReports, AMissingProgramIsNamedWithItsHost) {
  EXPECT_THAT(
      said({kDashes, "mpirun was unable to launch the specified application as it could not find an executable:", "",
            "Executable: /opt/evener", "Node: b", "", "while attempting to start process rank 1.", kDashes}),
      StartsWith("host b can't run '/opt/evener'"));
}

TEST(HostReports, ALostConnectionNamesTheOtherEnd) {
  EXPECT_EQ(said({kDashes, "ORTE has lost communication with a remote daemon.", "",
                  "  HNP daemon   : [[1,0],0] on node a", "  Remote daemon: [[1,0],1] on node b", kDashes}),
            "the connection with host b was lost: it is down or cut off");
}

TEST(HostReports, WhatCameOfALossIsNotTheReason) {
  EXPECT_EQ(said({"evener: on host a: rank 1 ended with exit code 130", kDashes,
                  "mpirun noticed that process rank 1 with PID 0 on node b exited on signal 9 (Killed).", kDashes}),
            "host b (host 1 of 2) was lost: its process was ended by signal 9 (Killed)");
}

TEST(HostReports, MpirunsSecondSignalIsNoReason) {
  EXPECT_EQ(said({"evener: second signal: ended at once; what was not saved yet is lost", "evener: no space"}),
            "no space");
}

TEST(HostReports, WhatIsNotKnownIsKept) {
  const std::string text = said({"[a:12] something odd", kDashes, "A thing went wrong.", kDashes});
  EXPECT_THAT(text, HasSubstr("[a:12] something odd"));
  EXPECT_THAT(text, HasSubstr("A thing went wrong."));
}

TEST(HostReports, OnlyALossMayBeGoneOnAfter) {
  const auto lost = [](const std::vector<std::string>& lines) {
    HostReport report(2);
    for (const auto& line : lines) report.take(line);
    return report.lost();
  };
  EXPECT_TRUE(
      lost({kDashes, "mpirun noticed that process rank 1 with PID 0 on node b exited on signal 9 (Killed).", kDashes}));
  EXPECT_TRUE(lost({std::string("evener: on host b: rank 3 was killed") + kResumeAdvice}));
  EXPECT_TRUE(lost({std::string("evener: on host b: rank 3 was killed") + kNothingSaved}));
  EXPECT_TRUE(lost({"evener: on host a: called off: host b (host 1 of 2) has given no sign of life for 5 s"}));
  EXPECT_FALSE(lost({"evener: on host b: no space"}));
  EXPECT_FALSE(lost({kDashes, "could not find an executable:", "Executable: /opt/evener", "Node: b", kDashes}));
}

TEST(HostReports, AFailureIsSeenAtOnce) {
  HostReport report(2);
  EXPECT_TRUE(report.take("note: all is well"));
  EXPECT_FALSE(report.failed());
  report.take("evener: no space");
  EXPECT_TRUE(report.failed());
}

TEST(Facts, DifferencesNameHostsAndValues) {
  const std::vector<Fact> here = {{"version", "1", "install one"}, {"number of images", "500", "copy them"}};
  std::vector<Fact> there = here;
  EXPECT_EQ(difference_of({"a", "b"}, {here, there}), "");
  there[1].value = "499";
  EXPECT_EQ(difference_of({"a", "b", "c"}, {here, here, there}),
            "the hosts are not at the same work: the number of images is 500 on a, 499 on c; copy them");
  there.pop_back();
  EXPECT_THAT(difference_of({"a", "b"}, {here, there}), HasSubstr("not known on b"));
}

}  // namespace
}  // namespace evener::parallel
