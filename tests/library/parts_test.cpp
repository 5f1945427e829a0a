// The parts that the library is made of: options by name, samples in memory, events between threads.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <stdexcept>
#include <thread>

#include "base/built_modules.h"
#include "evener/evener.h"
#include "infer/options.h"
#include "library/event_post.h"
#include "library/given.h"
#include "train/options.h"

namespace evener::library {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

template <class Call>
std::string what_fails(const Call& call) {
  try {
    call();
  } catch (const std::exception& error) {
    return error.what();
  }
  return "";
}

TEST(GivenOptions, AreReadByNameWithEitherStroke) {
  training::TrainFlags flags;
  give(givable(flags.options()), {{"model", "resnet18"},
                                  {"label_smoothing", 0.25},
                                  {"weight-decay", 1e-5},
                                  {"nesterov", true},
                                  {"freeze", {"a*", "b*"}},
                                  {"epochs", 4}});
  EXPECT_EQ(*flags.model.model, "resnet18");
  EXPECT_EQ(*flags.optimisation.label_smoothing, 0.25);
  EXPECT_EQ(*flags.optimisation.weight_decay, 1e-5);
  EXPECT_TRUE(*flags.optimisation.nesterov);
  EXPECT_THAT(*flags.model.freeze, ElementsAre("a*", "b*"));
  EXPECT_EQ(*flags.optimisation.epochs, 4);
  EXPECT_THROW(give(givable(flags.options()), {{"epochs", 5}}), UsageError) << "given twice";
  give(givable(flags.options()), {{"nesterov", false}});
  EXPECT_FALSE(*flags.optimisation.nesterov);
}

TEST(GivenOptions, ASwitchThatMayHaveAValueIsOffOnOrAValue) {
  const auto resume = [](const OptionValue& value) {
    training::TrainFlags flags;
    give(givable(flags.options()), {{"resume", value}});
    return *flags.output.resume;
  };
  EXPECT_FALSE(resume(false));
  EXPECT_EQ(resume(true), "");
  EXPECT_EQ(resume("runs/a"), "runs/a");
  EXPECT_EQ(resume("true"), "true") << "a folder of that name";
}

TEST(GivenOptions, ThoseOfATerminalArentGivable) {
  training::TrainFlags flags;
  const OptionSet options = givable(flags.options());
  for (const char* name : {"--json", "--quiet", "--dry-run", "--hosts", "--sample-interval", "--hosts-started"}) {
    EXPECT_EQ(options.find(name), nullptr) << name;
    EXPECT_NE(flags.options().find(name), nullptr) << name;
  }
  EXPECT_NE(options.find("--lr"), nullptr);
  EXPECT_THAT(what_fails([&] { check(options); }), HasSubstr("the option 'data' is missing: "));
  give(options, {{"data", "synth:digits"}, {"model", "resnet20"}});
  EXPECT_EQ(what_fails([&] { check(options); }), "");
  give(options, {{"drop_test", true}});
  EXPECT_THAT(what_fails([&] { check(options); }), HasSubstr("give both")) << "a rule of several options";
  EXPECT_THAT(what_fails([&] { give(options, {{"epohcs", 3}}); }), HasSubstr("'epochs'"));
  EXPECT_THAT(what_fails([&] { give(options, {{"batch_size", 3}}); }), HasSubstr("it is called 'batch' here"));
}

TEST(GivenOptions, AreDescribedByKind) {
  training::TrainFlags flags;
  const auto all = described(givable(flags.options()));
  const auto of = [&](const std::string& name) { return *std::ranges::find(all, name, &OptionDescription::name); };
  EXPECT_EQ(of("nesterov").kind, OptionDescription::Kind::kSwitch);
  EXPECT_EQ(of("freeze").kind, OptionDescription::Kind::kManyValues);
  EXPECT_EQ(of("resume").kind, OptionDescription::Kind::kSwitchOrValue);
  EXPECT_EQ(of("epochs").kind, OptionDescription::Kind::kOneValue);
  EXPECT_EQ(of("epochs").default_text, "10");
  EXPECT_EQ(of("epochs").value, "N");
  EXPECT_TRUE(of("data").required);
  EXPECT_FALSE(of("epochs").required);
  EXPECT_THAT(of("optimizer").choices, ElementsAre("sgd", "adamw"));
}

TEST(MemorySamples, ValuesAreThoseOfTheirSample) {
  const std::vector<float> floats = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11};
  const auto samples = value_samples({.bytes = nullptr, .floats = floats.data(), .shape = {3, 2, 2}});
  EXPECT_EQ(samples->size(), 3u);
  EXPECT_FALSE(samples->is_bytes());
  EXPECT_THAT(samples->shape(), ElementsAre(2, 2));
  EXPECT_EQ(samples->name(2), "#2");
  std::vector<float> read(4);
  samples->read(1, std::span(read));
  EXPECT_THAT(read, ElementsAre(4, 5, 6, 7));
  const std::vector<std::uint8_t> bytes = {10, 11, 12, 13, 14, 15};
  const auto of_bytes = value_samples({.bytes = bytes.data(), .floats = nullptr, .shape = {2, 3}});
  EXPECT_TRUE(of_bytes->is_bytes());
  std::vector<std::uint8_t> second(3);
  of_bytes->read(1, std::span(second));
  EXPECT_THAT(second, ElementsAre(13, 14, 15));
}

TEST(MemorySamples, PicturesAreReadRowByRowWithTheirChannels) {
  // Two pictures of 1x2 pixels in colour.
  const std::vector<std::uint8_t> pixels = {0, 0, 0, 0, 0, 0, 1, 2, 3, 4, 5, 6};
  data::Preprocessing steps;
  steps.shape = {3, 1, 2};
  const auto samples = picture_span_samples({pixels.data(), 2, 1, 2, 3}, steps);
  EXPECT_EQ(samples->size(), 2u);
  EXPECT_THAT(samples->shape(), ElementsAre(3, 1, 2));
  std::vector<std::uint8_t> planes(6);
  samples->read(1, std::span(planes));
  EXPECT_THAT(planes, ElementsAre(1, 4, 2, 5, 3, 6));
}

TEST(MemorySamples, WhatCannotBeIsRefused) {
  const float value = 0;
  const std::uint8_t byte = 0;
  const auto floats = [&](std::vector<std::int64_t> shape) {
    return what_fails([&] { value_samples({.bytes = nullptr, .floats = &value, .shape = std::move(shape)}); });
  };
  EXPECT_EQ(floats({0, 4}), "");
  EXPECT_EQ(floats({1, 1 << 24}), "");
  EXPECT_THAT(floats({1, (1 << 24) + 1}), HasSubstr("can't be samples"));
  EXPECT_THAT(floats({1, 0}), HasSubstr("can't be samples"));
  EXPECT_THAT(floats({-1, 4}), HasSubstr("can't be samples"));
  EXPECT_THAT(floats({1 << 20, 1 << 20, 2}), HasSubstr("can't be samples"));
  EXPECT_THAT(floats({3}), HasSubstr("samples have a shape of their own"));
  EXPECT_THAT(what_fails([&] {
                value_samples({.bytes = &byte, .floats = &value, .shape = {1, 1}});
              }),
              HasSubstr("either bytes or floats"));
  EXPECT_THAT(what_fails([&] {
                value_samples({.bytes = nullptr, .floats = nullptr, .shape = {1, 1}});
              }),
              HasSubstr("either bytes or floats"));
  EXPECT_EQ(what_fails([&] { value_samples({.bytes = nullptr, .floats = nullptr, .shape = {0, 1}}); }), "");
  const data::Preprocessing steps;
  EXPECT_THAT(what_fails([&] {
                picture_span_samples({&byte, 1, 1, 1, 2}, steps);
              }),
              HasSubstr("1 channel (grey) or 3"));
  EXPECT_THAT(what_fails([&] { picture_span_samples({nullptr, 1, 1, 1, 1}, steps); }), HasSubstr("null pointer"));
  EXPECT_EQ(what_fails([&] { picture_span_samples({nullptr, 0, 1, 1, 1}, steps); }), "");
}

/// Counts what it hears; asks for a stop, or throws, at the second note.
struct Hearer : Observer {
  void note(const std::string& text) override {
    notes.push_back(text);
    if (throws && notes.size() == 2) throw std::runtime_error("enough");
  }
  bool wants_stop() override { return stops && notes.size() >= 2; }
  std::vector<std::string> notes;
  bool throws = false, stops = false;
};

EventPost::Event noting(const std::string& text) {
  return [text](Observer& observer) { observer.note(text); };
}

TEST(EventPostTest, DeliversInOrderAndOnce) {
  Hearer hearer;
  EventPost post(&hearer, nullptr);
  post.send(noting("a"));
  post.send(noting("b"));
  EXPECT_THAT(hearer.notes, IsEmpty());
  post.deliver();
  post.deliver();
  EXPECT_THAT(hearer.notes, ElementsAre("a", "b"));
  EXPECT_FALSE(post.stop().requested());
  EXPECT_NO_THROW(post.rethrow());
}

TEST(EventPostTest, AStopOfTheObserverOrOfItsUserReachesTheJob) {
  Hearer hearer;
  hearer.stops = true;
  EventPost post(&hearer, nullptr);
  post.send(noting("a"));
  post.deliver();
  EXPECT_FALSE(post.stop().requested());
  post.send(noting("b"));
  post.deliver();
  EXPECT_TRUE(post.stop().requested());
  StopFlag users;
  EventPost silent(nullptr, &users);
  silent.deliver();
  EXPECT_FALSE(silent.stop().requested());
  users.request();
  silent.deliver();
  EXPECT_TRUE(silent.stop().requested());
}

TEST(EventPostTest, WhoThrewHearsNothingMoreAndTheJobEnds) {
  Hearer hearer;
  hearer.throws = true;
  EventPost post(&hearer, nullptr);
  for (const char* text : {"a", "b", "c"}) post.send(noting(text));
  post.deliver();
  EXPECT_TRUE(post.stop().requested());
  post.send(noting("d"));
  post.deliver();
  EXPECT_THAT(hearer.notes, ElementsAre("a", "b"));
  EXPECT_THAT(what_fails([&] { post.rethrow(); }), "enough");
}

TEST(EventPostTest, ASenderWaitsForAnObserverThatIsFarBehind) {
  Hearer hearer;
  EventPost post(&hearer, nullptr);
  std::atomic<int> sent = 0;
  std::thread sender([&] {
    for (int i = 0; i < 1030; ++i) {
      post.send(noting("x"));
      ++sent;
    }
  });
  while (sent < 1024) std::this_thread::yield();
  EXPECT_EQ(sent, 1024);
  while (hearer.notes.size() < 1030) post.deliver();
  sender.join();
  EXPECT_EQ(sent, 1030);
}

TEST(EventPostTest, ASenderWaitsForNobodyWhereNobodyListens) {
  EventPost silent(nullptr, nullptr);
  for (int i = 0; i < 2000; ++i) silent.send(noting("x"));
  Hearer hearer;
  EventPost post(&hearer, nullptr);
  const pid_t child = fork();
  if (child == 0) {
    alarm(20);
    for (int i = 0; i < 2000; ++i) post.send(noting("x"));
    _exit(0);
  }
  int status = -1;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0) << "a child's events reach nobody";
}

TEST(WorkThreadTest, DoesCallsOneAfterTheOtherOnOneThread) {
  WorkThread thread;
  std::thread::id first, second;
  int meanwhile = 0;
  thread.call([&] { first = std::this_thread::get_id(); });
  thread.call([&] { second = std::this_thread::get_id(); }, [&] { ++meanwhile; });
  EXPECT_EQ(first, second);
  EXPECT_NE(first, std::this_thread::get_id());
  EXPECT_GE(meanwhile, 1) << "once when the work is over";
  EXPECT_THAT(what_fails([&] { thread.call([] { throw std::runtime_error("broken"); }); }), "broken");
  EXPECT_EQ(what_fails([&] { thread.call([] {}); }), "") << "a failure is thrown once";
}

TEST(WorkThreadTest, WhatTheObserverThrewIsWhyTheWorkEnded) {
  WorkThread thread;
  Hearer hearer;
  hearer.throws = true;
  EventPost post(&hearer, nullptr);
  const auto work = [&] {
    post.send(noting("a"));
    post.send(noting("b"));
    while (!post.stop().requested()) std::this_thread::yield();
    throw std::runtime_error("interrupted");
  };
  EXPECT_EQ(what_fails([&] { work_observed(thread, post, work); }), "enough");
  EventPost quiet(nullptr, nullptr);
  EXPECT_EQ(what_fails([&] { work_observed(thread, quiet, [] { throw std::runtime_error("own"); }); }), "own");
}

TEST(LoadedNetworkTest, AnswersEachShapeAndKindOfSamplesInTurn) {
  if (!test::module_is_built("openvino") && !test::module_is_built("torch"))
    GTEST_SKIP() << "networks can't be run in this build";
  LoadedNetwork network("mlp:4-3", {{"size", "2x2"}, {"channels", 1}, {"batch", 2}, {"on", "cpu/t1"}});
  const std::vector<std::uint8_t> bytes = {10, 200, 30, 40};
  const std::vector<float> floats(bytes.begin(), bytes.end());
  const auto of_bytes = [&] {
    return network.run(SampleSpan{bytes.data(), nullptr, {1, 1, 2, 2}}).at(network.main_output()).values;
  };
  const auto of_floats = [&] {
    return network.run(SampleSpan{nullptr, floats.data(), {1, 1, 2, 2}}).at(network.main_output()).values;
  };
  const std::vector<float> first = of_bytes(), second = of_floats();
  ASSERT_EQ(first.size(), 3u);
  EXPECT_EQ(of_bytes(), first);
  EXPECT_EQ(of_floats(), second);
  // An answer of three samples, of which the last batch is not full.
  std::vector<std::uint8_t> three(12, 10);
  std::copy(bytes.begin(), bytes.end(), three.begin() + 8);
  const FloatArray all = network.run(SampleSpan{three.data(), nullptr, {3, 1, 2, 2}}).at(network.main_output());
  EXPECT_THAT(all.shape, ElementsAre(3, 3));
  for (std::size_t i = 0; i < 3; ++i) EXPECT_FLOAT_EQ(all.values[6 + i], first[i]);
  EXPECT_NE(all.values[0], all.values[6]);
}

}  // namespace
}  // namespace evener::library
