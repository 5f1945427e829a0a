#include "placement/plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/thrown.h"
#include "placement/fake_machine.h"

namespace evener::placement {
namespace {

using test::fake_machine;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

Plan plan_for(const std::string& text, const test::MachineShape& shape, const PlanOptions& options = {}) {
  return make_plan(parse(text), fake_machine(shape), options);
}

std::string refusal(const std::string& text, const test::MachineShape& shape, const PlanOptions& options = {}) {
  return test::thrown_by<UsageError>([&] { plan_for(text, shape, options); }, "it was planned");
}

// Threads of all stages, in order.
std::vector<int> threads_of(const Plan& plan) {
  std::vector<int> threads;
  for (const auto& replica : plan.replicas) {
    for (const auto& stage : replica.stages) threads.push_back(stage.threads);
  }
  return threads;
}

std::vector<std::string> devices_of(const Plan& plan) {
  std::vector<std::string> devices;
  for (const auto& replica : plan.replicas) {
    for (const auto& stage : replica.stages) devices.push_back(device_text(stage.device));
  }
  return devices;
}

TEST(Threads, OfTheCpuAreCounted) {
  EXPECT_EQ(cpu_threads(plan_for("2xcpu/t3", {.cores = 8})), 6);
  EXPECT_EQ(cpu_threads(plan_for("cpu/t1", {.cores = 8})), 1);
  Plan elsewhere = plan_for("cpu/t1", {.cores = 8});
  elsewhere.replicas.front().stages.front().device = {DeviceKind::kCuda, 0};
  EXPECT_EQ(cpu_threads(elsewhere), 8);
  EXPECT_EQ(cpu_threads(on_hosts(plan_for("cpu", {.cores = 8}), 2)), 8) << "of one host";
}

TEST(Threads, TheWholeCpuWithoutT) {
  EXPECT_THAT(threads_of(plan_for("cpu", {.cores = 1})), ElementsAre(1));
  EXPECT_THAT(threads_of(plan_for("cpu", {.cores = 2})), ElementsAre(2));
  EXPECT_THAT(threads_of(plan_for("cpu", {.cores = 64})), ElementsAre(64));
  EXPECT_THAT(threads_of(plan_for("cpu", {.cores = 64, .threads_per_core = 2})),
              ElementsAre(64));  // cores, not SMT threads
  EXPECT_THAT(threads_of(plan_for("cpu", {.cores = 64, .quota_cpus = 3.5})), ElementsAre(4));
  EXPECT_THAT(threads_of(plan_for("cpu/t3", {.cores = 8})), ElementsAre(3));
}

TEST(Threads, AreDividedEvenlyTheFirstTakingTheRemainder) {
  EXPECT_THAT(threads_of(plan_for("3xcpu", {.cores = 8})), ElementsAre(3, 3, 2));
  EXPECT_THAT(threads_of(plan_for("cpu..cpu..cpu", {.cores = 64})), ElementsAre(22, 21, 21));
}

TEST(Threads, LeaveACoreForEachGpuInUse) {
  EXPECT_THAT(threads_of(plan_for("cuda:0+cpu", {.cores = 8, .gpus = 2})), ElementsAre(1, 7));
  EXPECT_THAT(threads_of(plan_for("cuda:all+2xcpu", {.cores = 64, .gpus = 8})),
              ElementsAre(1, 1, 1, 1, 1, 1, 1, 1, 28, 28));
}

TEST(Threads, LeaveWhatOthersWereGivenExplicitly) {
  EXPECT_THAT(threads_of(plan_for("cpu/t2+cpu", {.cores = 8})), ElementsAre(2, 6));
  EXPECT_THAT(threads_of(plan_for("cpu/t8+cpu", {.cores = 8})), ElementsAre(8, 1));  // at least one
}

TEST(Threads, OversubscriptionIsWarnedAboutWithItsNumbers) {
  EXPECT_THAT(plan_for("cpu/t8", {.cores = 8}).warnings, IsEmpty());
  EXPECT_THAT(plan_for("cpu/t9", {.cores = 8}).warnings, ElementsAre(HasSubstr("9 computing threads on 8 cores")));
  EXPECT_THAT(plan_for("4xcpu/t1", {.cores = 2}, {.oversubscribe = true}).warnings,
              ElementsAre(HasSubstr("4 computing threads on 2 cores")));
  EXPECT_THAT(plan_for("cuda:0+cpu/t8", {.cores = 8, .gpus = 1}).warnings,
              ElementsAre(HasSubstr("8 computing threads and 1 thread driving GPUs on 8 cores")));
  EXPECT_THAT(plan_for("cuda:0+cpu", {.cores = 1, .gpus = 1}).warnings, ElementsAre(HasSubstr("on 1 core:")));
  EXPECT_THAT(plan_for("cpu/t4", {.cores = 64, .quota_cpus = 2}).warnings,
              ElementsAre(HasSubstr("the CPU quota here is 2)")));
}

TEST(Replicas, NoMoreThanHaveCpusOfTheirOwn) {
  const Plan plan = plan_for("16xcpu/t1", {.cores = 2});
  EXPECT_THAT(threads_of(plan), ElementsAre(1, 1));
  EXPECT_EQ(plan.replicas[0].share, 0.5);
  EXPECT_THAT(plan.fallbacks, ElementsAre(HasSubstr("2 of 16 replicas: there are 2 CPUs")));
  EXPECT_THAT(plan_text(plan), HasSubstr("warning: 2 of 16 replicas"));
  EXPECT_THAT(threads_of(plan_for("4xcpu/t3", {.cores = 8})), ElementsAre(3, 3));
  EXPECT_THAT(threads_of(plan_for("3xcpu", {.cores = 2})), ElementsAre(1, 1));
  const Plan one = plan_for("2xcpu/t4", {.cores = 1});
  EXPECT_THAT(one.fallbacks, ElementsAre(HasSubstr("1 of 2 replicas: there is 1 CPU,")));
  EXPECT_THAT(one.warnings, ElementsAre(HasSubstr("4 computing threads on 1 core")));
  EXPECT_EQ(plan_for("4xcpu/t1", {.cores = 2, .threads_per_core = 2}).replicas.size(), 4);  // a CPU each, not a core
  EXPECT_EQ(plan_for("4xcpu/t1", {.cores = 8, .quota_cpus = 2.5}).replicas.size(), 3);
}

TEST(Replicas, AllWhereThatWasMeant) {
  EXPECT_EQ(plan_for("16xcpu/t1", {.cores = 2}, {.oversubscribe = true}).replicas.size(), 16);
  EXPECT_EQ(plan_for("3xcpu/t1", {.cores = 2}, {.shares = parse_share_rule("2:1:3")}).replicas.size(), 3);
  EXPECT_EQ(plan_for("cpu/t1+cpu/t1+cpu/t1@0.5", {.cores = 2}).replicas.size(), 3);
}

TEST(Cpus, StagesGetCoresOfTheirOwn) {
  const Plan plan = plan_for("3xcpu", {.cores = 8});
  EXPECT_THAT(plan.replicas[0].stages[0].cpus, ElementsAre(0, 1, 2));
  EXPECT_THAT(plan.replicas[1].stages[0].cpus, ElementsAre(3, 4, 5));
  EXPECT_THAT(plan.replicas[2].stages[0].cpus, ElementsAre(6, 7));
}

TEST(Cpus, TheGpusDriverHasTheLastCore) {
  const Plan plan = plan_for("cuda:0+cpu", {.cores = 4, .gpus = 1});
  EXPECT_THAT(plan.replicas[0].stages[0].cpus, ElementsAre(3));
  EXPECT_THAT(plan.replicas[1].stages[0].cpus, ElementsAre(0, 1, 2));
}

TEST(Cpus, SecondHardwareThreadsComeLast) {
  const Plan plan = plan_for("2xcpu/t3", {.cores = 4, .threads_per_core = 2});
  EXPECT_THAT(plan.replicas[0].stages[0].cpus, ElementsAre(0, 1, 2));
  EXPECT_THAT(plan.replicas[1].stages[0].cpus, ElementsAre(3, 4, 5));  // 4 and 5 are the cores 0 and 1 again
  EXPECT_THAT(plan.warnings, ElementsAre(HasSubstr("6 computing threads on 4 cores")));
}

TEST(Cpus, OfUnequalCoresTheSecondThreadsComeAfterAllFirstOnes) {
  Machine machine = fake_machine({.cores = 4});
  machine.cpu.cores = {{0, 1}, {2, 3}, {4}, {5}};  // two fast ones with two threads each
  const Plan plan = make_plan(parse("cpu/t3+cpu/t3"), machine);
  EXPECT_THAT(plan.replicas[0].stages[0].cpus, ElementsAre(0, 2, 4));
  EXPECT_THAT(plan.replicas[1].stages[0].cpus, ElementsAre(5, 1, 3));
}

TEST(Cpus, NothingIsPinnedWhereThatWouldHarm) {
  EXPECT_THAT(plan_for("cpu/t1", {.cores = 8}).replicas[0].stages[0].cpus, IsEmpty());  // two programs would meet
  EXPECT_THAT(plan_for("2xcpu/t8", {.cores = 4}, {.oversubscribe = true}).replicas[0].stages[0].cpus, IsEmpty());
  EXPECT_THAT(plan_for("2xcpu", {.cores = 64, .quota_cpus = 4}).replicas[0].stages[0].cpus, IsEmpty());
  EXPECT_THAT(plan_for("cpu", {.cores = 2}).replicas[0].stages[0].cpus, ElementsAre(0, 1));
}

TEST(Devices, AreResolved) {
  EXPECT_THAT(devices_of(plan_for("cuda", {.gpus = 2})), ElementsAre("cuda:0"));
  EXPECT_THAT(devices_of(plan_for("cuda:all", {.gpus = 2})), ElementsAre("cuda:0", "cuda:1"));
  EXPECT_THAT(devices_of(plan_for("cuda:0..cuda:1", {.gpus = 2})), ElementsAre("cuda:0", "cuda:1"));
  EXPECT_THAT(devices_of(plan_for("2xcpu/t1..cuda", {.gpus = 2})), ElementsAre("cpu", "cuda:0", "cpu", "cuda:1"));
  EXPECT_EQ(plan_for("cuda:all", {.cores = 64, .gpus = 8}).replicas.size(), 8U);
  EXPECT_EQ(plan_for("cuda:1", {.gpus = 2}).replicas[0].stages[0].device_name, "Fake GPU");
  EXPECT_EQ(plan_for("cpu@0.5", {}).replicas[0].stages[0].factor, 0.5);
}

TEST(Devices, MissingOnesAreRefusedWithTheReasonAndThePlace) {
  EXPECT_EQ(refusal("cpu+cuda:0", {}),
            "placement 'cpu+cuda:0' can't be used here: there is no cuda:0: no NVIDIA driver is loaded\n"
            "  cpu+cuda:0\n"
            "      ^");
  EXPECT_THAT(refusal("cuda:all", {}), HasSubstr("there is no CUDA GPU: no NVIDIA driver is loaded"));
  EXPECT_THAT(refusal("cuda:2", {.gpus = 2}),
              HasSubstr("there is no cuda:2; this machine has cuda:0 (Fake GPU), cuda:1 (Fake GPU)\n"));
  EXPECT_THAT(refusal("3xcuda", {.gpus = 2}), HasSubstr("each replica needs a device of its own"));
  EXPECT_THAT(refusal("npu", {}), HasSubstr("there is no npu: none is there"));
  EXPECT_THAT(refusal("intel:1", {}), HasSubstr("there is no intel:1"));
  EXPECT_THAT(refusal("opencl", {}), HasSubstr("there is no opencl:0"));
}

TEST(Devices, UnusableOnesAreRefusedWithTheirProblem) {
  Machine machine = fake_machine({.gpus = 1});
  machine.cuda.devices[0].problem = "its compute capability is 6.1";
  try {
    make_plan(parse("cuda"), machine);
    FAIL();
  } catch (const UsageError& error) {
    EXPECT_THAT(error.what(), HasSubstr("cuda:0 (Fake GPU) can't be used: its compute capability is 6.1"));
  }
}

TEST(Devices, HaveTheUuidsOfTheirCardsWhichOtherHostsDoNotHave) {
  Machine machine = fake_machine({.cores = 8, .gpus = 2});
  machine.cuda.devices[0].uuid = "GPU-0a";
  machine.cuda.devices[1].uuid = "GPU-1b";
  machine.cuda.devices[1].name = "Other GPU";
  const Plan plan = make_plan(parse("2xcuda"), machine);
  EXPECT_THAT(devices_of(plan), ElementsAre("cuda:0", "cuda:1")) << "each copy has its own";
  EXPECT_EQ(plan.replicas[1].stages[0].uuid, "GPU-1b");
  EXPECT_EQ(plan.replicas[1].stages[0].device_name, "Other GPU");
  EXPECT_FALSE(plan.replicas[0].share) << "cards of two names are measured";
  const Plan two = on_hosts(plan, 2);
  EXPECT_EQ(two.replicas[0].stages[0].uuid, "GPU-0a");
  EXPECT_EQ(two.replicas[2].stages[0].uuid, "") << "of the other host's card nobody knows it";
  machine.cuda.devices.clear();
  machine.cuda.reason = "the kernel knows one";
  machine.cuda.remedy = "install the driver";
  EXPECT_THAT(test::thrown_by<UsageError>([&] { make_plan(parse("cuda"), machine); }),
              HasSubstr("there is no cuda:0: the kernel knows one; install the driver\n"));
}

TEST(Devices, OneGpuServesOneStageOnly) {
  for (const char* text : {"cuda:0+cuda:0", "2xcuda:0", "cuda+cuda:0", "cuda:all+cuda:1", "cuda:0..cpu..cuda:0"}) {
    EXPECT_THAT(refusal(text, {.gpus = 2}), HasSubstr("is in use by another replica or stage already")) << text;
  }
}

TEST(Shares, AreEqualForEqualReplicasAndElseMeasured) {
  EXPECT_EQ(plan_for("4xcpu/t1", {}).replicas[3].share, 0.25);
  EXPECT_EQ(plan_for("cpu", {}).replicas[0].share, 1);
  EXPECT_FALSE(plan_for("cuda:0+cpu", {.gpus = 1}).replicas[0].share);
  EXPECT_FALSE(plan_for("cpu/t1+cpu/t2", {}).replicas[0].share);
  EXPECT_FALSE(plan_for("cpu/t1+cpu/t1@0.5", {}).replicas[0].share);
}

TEST(Shares, CanBeGiven) {
  PlanOptions options;
  options.shares = parse_share_rule("12:1");
  const Plan plan = plan_for("cuda:0+cpu", {.gpus = 1}, options);
  EXPECT_DOUBLE_EQ(*plan.replicas[0].share, 12.0 / 13);
  EXPECT_DOUBLE_EQ(*plan.replicas[1].share, 1.0 / 13);
  EXPECT_THAT(refusal("3xcpu/t1", {}, options), HasSubstr("gives 2 weights, but placement '3xcpu/t1' has 3 replicas"));
  options.shares = parse_share_rule("equal");
  EXPECT_EQ(plan_for("cuda:0+cpu", {.gpus = 1}, options).replicas[1].share, 0.5);
  options.shares = parse_share_rule("measured");
  EXPECT_FALSE(plan_for("2xcpu/t1", {}, options).replicas[1].share);
  EXPECT_EQ(plan_for("cpu", {}, options).replicas[0].share, 1);
}

TEST(Shares, NonsenseIsRefused) {
  for (const char* text : {"", ":", "1:", "1:0", "-1:2", "1:x", "nan:1", "inf:1", "12;1", "mesured"}) {
    EXPECT_THROW(parse_share_rule(text), UsageError) << text;
  }
}

std::vector<std::vector<int>> processes_of(const Plan& plan) {
  std::vector<std::vector<int>> ranks;
  for (const auto& process : plan.processes) ranks.push_back(process.ranks);
  return ranks;
}

TEST(Processes, OnePerReplicaButAGpuAndTheCpuShareOne) {
  EXPECT_THAT(processes_of(plan_for("cpu", {})), ElementsAre(ElementsAre(0)));
  EXPECT_THAT(processes_of(plan_for("3xcpu/t1", {})), ElementsAre(ElementsAre(0), ElementsAre(1), ElementsAre(2)));
  EXPECT_THAT(processes_of(plan_for("cuda:0+cpu", {.gpus = 1})), ElementsAre(ElementsAre(0, 1)));
  EXPECT_THAT(processes_of(plan_for("cuda:all", {.gpus = 2})), ElementsAre(ElementsAre(0), ElementsAre(1)));
  PlanOptions options;
  options.replicas = parse_replicas_as("threads");
  EXPECT_THAT(processes_of(plan_for("3xcpu/t1", {}, options)), ElementsAre(ElementsAre(0, 1, 2)));
  options.replicas = parse_replicas_as("processes");
  EXPECT_THAT(processes_of(plan_for("cuda:0+cpu", {.gpus = 1}, options)), ElementsAre(ElementsAre(0), ElementsAre(1)));
  EXPECT_THROW(parse_replicas_as("thread"), UsageError);
}

TEST(Notes, SayWhatPrecisionsBecome) {
  PlanOptions options;
  options.precision = "fp16";
  EXPECT_THAT(plan_for("cuda:0+cpu", {.gpus = 1}, options).notes, ElementsAre(HasSubstr("fp16 is computed as bf16")));
  EXPECT_THAT(plan_for("cuda:0", {.gpus = 1}, options).notes, IsEmpty());
  options.precision = "tf32";
  EXPECT_THAT(plan_for("cuda:0+cpu", {.gpus = 1}, options).notes, ElementsAre(HasSubstr("tf32 is computed as fp32")));
  options.precision = "bf16";
  EXPECT_THAT(plan_for("cpu", {}, options).warnings, IsEmpty());
  EXPECT_THAT(plan_for("cpu", {.features = {"avx2", "fma"}}, options).warnings,
              ElementsAre(HasSubstr("no bf16 instructions")));
  EXPECT_THAT(plan_for("cpu@0.5", {}).notes, ElementsAre(HasSubstr("emulates")));
}

TEST(Runnable, ReplicasOfOneStageOnTheCpu) {
  EXPECT_EQ(why_not_runnable(plan_for("cpu", {})), "");
  EXPECT_EQ(why_not_runnable(plan_for("cpu/t9", {})), "");  // warned about, not refused
  EXPECT_EQ(why_not_runnable(plan_for("2xcpu/t1", {})), "");
  EXPECT_EQ(why_not_runnable(plan_for("cpu/t1+cpu/t1@0.5", {})), "");
  EXPECT_EQ(why_not_runnable(plan_for("2xcpu/t1..cpu/t1", {})), "");
  const Plan divided = on_hosts(plan_for("cpu/t1..cpu/t1", {}), 2);
  EXPECT_EQ(why_not_runnable(divided), "");
  ASSERT_EQ(divided.processes.size(), 1u) << "of a host";
  EXPECT_THAT(divided.processes[0].ranks, ElementsAre(0, 1));
  EXPECT_THAT(divided.notes, Contains(HasSubstr("threads of one process")));
  EXPECT_THAT(divided.fallbacks, IsEmpty())
      << "nothing else was asked for, and times of fallbacks are not to be quoted";
  EXPECT_TRUE(has_other_hosts(divided)) << "as many ranks here as replicas on both";
  EXPECT_FALSE(has_other_hosts(plan_for("2xcpu/t1..cpu/t1", {})));
  EXPECT_EQ(why_not_runnable(plan_for("cuda", {.gpus = 1})), "");
  EXPECT_EQ(why_not_runnable(plan_for("cuda:0+cpu", {.gpus = 1})), "");
  EXPECT_EQ(why_not_runnable(plan_for("2xcpu/t1..cuda@0.5", {.gpus = 2})), "");
}

TEST(Stages, EachIsARank) {
  const Plan plan = plan_for("2xcpu/t1..cpu/t2", {.cores = 8});
  EXPECT_EQ(stage_count(plan), 2);
  EXPECT_EQ(rank_count(plan), 4);
  EXPECT_EQ(plan.processes.size(), 4u);
  EXPECT_EQ(stage_of(plan, 3).threads, 2);
  EXPECT_EQ(rank_text(plan, 2), "rank 2, stage 0 of replica 1");
  EXPECT_EQ(rank_text(plan_for("2xcpu/t1", {.cores = 8}), 1), "rank 1");
}

TEST(Stages, AreEquallyManyInAllReplicas) {
  EXPECT_THAT(refusal("cpu/t1+cpu/t1..cpu/t1", {.cores = 8}), HasSubstr("equally many stages"));
}

TEST(WithoutReplica, TheOthersTakeOverItsShareAndAreNumberedAnew) {
  PlanOptions options;
  options.shares = parse_share_rule("5:2:3");
  const Plan plan = without_replica(plan_for("cpu/t1+cpu/t2+cpu/t3", {.cores = 8}, options), 1);
  ASSERT_EQ(plan.replicas.size(), 2U);
  EXPECT_EQ(plan.replicas[1].rank, 1);
  EXPECT_EQ(plan.replicas[1].stages[0].threads, 3);
  EXPECT_DOUBLE_EQ(*plan.replicas[0].share, 0.625);
  EXPECT_DOUBLE_EQ(*plan.replicas[1].share, 0.375);
  ASSERT_EQ(plan.processes.size(), 2U);
  EXPECT_EQ(plan.processes[1].ranks, std::vector<int>{1});
}

TEST(WithoutReplica, MeasuredSharesStayMeasured) {
  const Plan plan = without_replica(plan_for("cpu/t1+cpu/t2+cpu/t3", {.cores = 8}), 0);
  EXPECT_EQ(plan.replicas[0].stages[0].threads, 2);
  EXPECT_FALSE(plan.replicas[0].share);
}

TEST(Runnable, AutoSaysWhatToNameInstead) {
  EXPECT_THAT(refusal("auto", {.cores = 6}), HasSubstr("'cpu' (6 cores)"));
}

TEST(PlanText, ShowsEverything) {
  PlanOptions options;
  options.precision = "fp16";
  EXPECT_EQ(plan_text(plan_for("cuda:0+cpu/t9@0.5", {.cores = 8, .threads_per_core = 2, .gpus = 1}, options)),
            "placement  cuda:0+cpu/t9@0.5\n"
            "machine    8 cores to compute with\n"
            "precision  fp16\n"
            "replica 0  share of the batch by measured speed\n"
            "  stage 0  cuda:0 (Fake GPU), 1 thread driving it, pinned to CPU 9\n"
            "replica 1  share of the batch by measured speed\n"
            "  stage 0  cpu (Fake CPU), 9 threads, pinned to CPU 0-8, slowed to 50 % of its speed\n"
            "process 0  ranks 0-1, each a thread\n"
            "note: fp16 is computed as bf16 on CPU replicas\n"
            "note: '@' emulates slower devices: for tests; the record says so\n"
            "warning: 9 computing threads and 1 thread driving GPUs on 8 cores: they get in each other's way\n");
}

TEST(CpuListText, JoinsRanges) {
  EXPECT_EQ(cpu_list_text({}), "");
  EXPECT_EQ(cpu_list_text({4}), "4");
  EXPECT_EQ(cpu_list_text({0, 1, 2, 3, 8, 10, 11}), "0-3,8,10-11");
}

TEST(Hosts, RepeatTheReplicasInTheOrderOfHosts) {
  PlanOptions options;
  options.shares = parse_share_rule("3:1");
  const Plan plan = on_hosts(plan_for("2xcpu/t1", {.cores = 4}, options), 3);
  ASSERT_EQ(plan.replicas.size(), 6U);
  std::vector<double> shares;
  for (int rank = 0; rank < 6; ++rank) {
    const auto& replica = plan.replicas[static_cast<std::size_t>(rank)];
    EXPECT_EQ(replica.rank, rank);
    EXPECT_EQ(replica.stages.front().cpus, plan.replicas[static_cast<std::size_t>(rank % 2)].stages.front().cpus);
    shares.push_back(replica.share.value());
  }
  EXPECT_THAT(shares, ElementsAre(0.75 / 3, 0.25 / 3, 0.75 / 3, 0.25 / 3, 0.75 / 3, 0.25 / 3));
  EXPECT_EQ(plan.processes.size(), 2U) << "of this host";
}

}  // namespace
}  // namespace evener::placement
