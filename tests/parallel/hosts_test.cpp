// The parts of a run on several hosts that need no second host: lists of names, command lines, words about failures.
#include "parallel/hosts.h"

#include <gmock/gmock.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include <cerrno>
#include <fstream>
#include <utility>

#include "base/error.h"
#include "base/files.h"
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
  EXPECT_THAT(evener::test::thrown_by<UsageError>([] { slurm_hosts(); }), HasSubstr("started 2 times by srun"));
  set("SLURM_STEP_NUM_TASKS", "1");
  EXPECT_THAT(slurm_hosts(), ElementsAre("n1", "n2")) << "as a step of its own";
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
  EXPECT_THAT(words(), HasSubstr(" --wdir " + std::filesystem::current_path().string() + " "));
  EXPECT_THAT(words(), HasSubstr(" --mca oob_tcp_keepalive_time 1 --mca oob_tcp_keepalive_intvl 1 --mca "
                                 "oob_tcp_keepalive_probes 3 "));
  launch_.slurm = true;
  EXPECT_THAT(words(), StartsWith("mpirun ")) << "which reaches the nodes through Slurm";
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
  EXPECT_THAT(words(), testing::EndsWith("--cpu-bind=none /opt/evener train m "));
  set("SLURM_CPUS_PER_TASK", "12");
  EXPECT_THAT(words(), HasSubstr(" --cpus-per-task=12 /opt/evener"));
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

TEST(HostReports, MpirunsOtherMessagesHaveAMeaningToo) {
  const std::pair<const char*, const char*> rows[] = {
      {"mpirun could not access\nor execute an executable:\nExecutable: /opt/evener\nNode: b",
       "host b can't run '/opt/e"},
      {"Error: unable to change to working directory /home/me", "a host has no folder of the name of this one"},
      {"WARNING: Open MPI tried to use --wdir", "a host has no folder of the name of this one"},
      {"ORTE was unable to reliably start one or more daemons.", "not every host could be reached"},
      {"An ORTE daemon has unexpectedly failed after launch", "not every host could be reached"},
      {"There are not enough slots available in the system", "two of the hosts are the same one"},
      {"Your job has requested more processes than the ppr for\nthis topology can support:",
       "two of the hosts are the same"},
      {"process rank 3 with PID 12 on node\nb exited on signal 11 (Segmentation\nfault).",
       "host b (host 3 of 2) was lost: its process was ended by signal 11 (Segmentation fault)"}};
  for (const auto& [text, meaning] : rows) {
    std::vector<std::string> lines = {kDashes, text, kDashes};
    EXPECT_THAT(said(lines), StartsWith(meaning)) << text;
    lines.insert(lines.end(), {kDashes, "There are not enough slots", kDashes});
    EXPECT_THAT(said(lines), StartsWith(meaning)) << "the first is the reason";
    lines.emplace_back("evener: on host a: no space");
    EXPECT_EQ(said(lines).starts_with(meaning), std::string(meaning).find("was lost") != std::string::npos) << text;
  }
}

TEST(HostReports, LinesOfTheStarterAreKeptAndOthersShown) {
  std::string passed;
  const std::string text = said({"mpirun: a", "srun: b", "slurmstepd: c", "[node:77] d", "[3/8] block 1", "[n:7a] e",
                                 "[:77] f", "mpirunner: g", " mpirun: h", "[n:] i", "-----", "[a b] c:1] j"},
                                &passed);
  EXPECT_EQ(passed, "[3/8] block 1|[n:7a] e|[:77] f|mpirunner: g| mpirun: h|[n:] i|-----|[a b] c:1] j|");
  EXPECT_EQ(text, "the run on 2 hosts ended before its time\n  mpirun: a\n  srun: b\n  slurmstepd: c\n  [node:77] d");
  const std::string many = said(std::vector<std::string>(50, "mpirun: again"));
  EXPECT_EQ(std::ranges::count(many, '\n'), 12);
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
  EXPECT_FALSE(report.no_answer());
  for (const auto& [text, is_failure] :
       {std::pair("Primary job  terminated normally, but", true), std::pair("There are not enough slots", true),
        std::pair("A thing to know.", false)}) {
    HostReport of_starter(2);
    for (const std::string& line : {kDashes, std::string(text)}) EXPECT_FALSE(of_starter.take(line));
    EXPECT_FALSE(of_starter.failed()) << "it isn't whole yet";
    EXPECT_FALSE(of_starter.take(kDashes));
    EXPECT_EQ(of_starter.failed(), is_failure) << text;
  }
}

/// mpirun as a shell script that does what a test says.
class StartedHosts : public Variables {
 protected:
  StartedHosts() : path_(getenv("PATH")) { setenv("PATH", (folder_.path().string() + ":" + path_).c_str(), 1); }
  ~StartedHosts() override { setenv("PATH", path_.c_str(), 1); }

  void run(const std::string& script) const {
    evener::test::write_text(folder_ / "mpirun", "#!/bin/sh\n" + script + "\n");
    std::filesystem::permissions(folder_ / "mpirun", std::filesystem::perms::owner_all);
    run_on_hosts({{"a", "b"}, false, "/opt/evener", {"train", "m"}});
  }
  /// How it ended: the kind of what was thrown, and its words.
  std::string end_of(const std::string& script) const {
    try {
      run(script);
    } catch (const HostLost& lost) {
      return std::string("lost: ") + lost.what();
    } catch (const UsageError& error) {
      return std::string("usage: ") + error.what();
    } catch (const Interrupted& error) {
      return std::string("interrupted: ") + error.what();
    } catch (const Error& error) {
      return std::string("error: ") + error.what();
    }
    return "good";
  }

  TestFolder folder_;
  std::string path_;
};

TEST_F(StartedHosts, GetTheWordsAndTheirOutputIsOurs) {
  const std::string words = (folder_ / "words").string();
  unsetenv("HWLOC_COMPONENTS");
  testing::internal::CaptureStdout();
  testing::internal::CaptureStderr();
  run("echo \"$*\" > " + words + "; echo \"$HWLOC_COMPONENTS\"; echo 'epoch 1' >&2; echo 'mpirun: well' >&2");
  EXPECT_EQ(testing::internal::GetCapturedStdout(), "-opencl\n") << "whose drivers would take the stop signal";
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "epoch 1\n");
  EXPECT_THAT(read_file(words), AllOf(StartsWith("--host a:1,b:1 -np 2 "), testing::EndsWith("/opt/evener train m\n")));
  set("HWLOC_COMPONENTS", "mine");
  testing::internal::CaptureStdout();
  run("echo \"$HWLOC_COMPONENTS\"");
  EXPECT_EQ(testing::internal::GetCapturedStdout(), "mine\n");
}

TEST_F(StartedHosts, EndAsTheirFirstFailureSays) {
  EXPECT_EQ(end_of("exit 0"), "good");
  EXPECT_EQ(end_of("echo 'evener: on host b: no such option' >&2; exit 2"), "usage: on host b: no such option");
  EXPECT_EQ(end_of("echo 'evener: stopped' >&2; exit 130"), "interrupted: stopped");
  EXPECT_EQ(end_of("echo 'evener: stopped' >&2; exit 143"), "interrupted: stopped");
  EXPECT_EQ(end_of("echo 'evener: no space' >&2; echo 'evener: called off' >&2; exit 1"), "error: no space");
  EXPECT_THAT(end_of("echo 'evener: host b has given no sign of life' >&2; exit 1"), StartsWith("lost: host b has"));
  EXPECT_EQ(end_of("exit 7"), "error: the run on 2 hosts ended before its time");
  EXPECT_EQ(end_of("kill -KILL $$"), "error: the run on 2 hosts ended before its time");
}

TEST_F(StartedHosts, LeaveNothingRunningHere) {
  const std::string file = (folder_ / "pid").string();
  // What mpirun has started, such as an ssh, holds nothing of ours open; mpirun itself waits for a lost host for ever.
  EXPECT_THAT(end_of("sleep 1000 </dev/null >/dev/null 2>&1 & echo $! > " + file +
                     "; echo 'evener: host b has given no sign of life' >&2; exec sleep 1000"),
              StartsWith("lost: "));
  const pid_t left = std::stoi(read_file(file));
  EXPECT_EQ(kill(left, 0), -1);
  EXPECT_EQ(errno, ESRCH);
}

TEST(Facts, DifferencesNameHostsAndValues) {
  const std::vector<Fact> here = {{"version", "1", "install one"}, {"number of images", "500", "copy them"}};
  std::vector<Fact> there = here;
  EXPECT_EQ(difference_of({"a", "b"}, {here, there}), "");
  there[1].value = "499";
  EXPECT_EQ(difference_of({"a", "b", "c"}, {here, here, there}),
            "the hosts are not at the same work: the number of images is 500 on a, 499 on c; copy them");
  there[1] = here[1], there[0].value = "2";
  EXPECT_THAT(difference_of({"a", "b", "c"}, {here, there, here}), HasSubstr("the version is 1 on a, 2 on b; install"));
  there = here, there[0].what = "number of images";
  EXPECT_THAT(difference_of({"a", "b"}, {here, there}), HasSubstr("the version is 1 on a, not known on b"));
  there = here;
  there.pop_back();
  EXPECT_THAT(difference_of({"a", "b"}, {here, there}), HasSubstr("not known on b"));
}

}  // namespace
}  // namespace evener::parallel
