// Networks that are looked at: which samples are shown, which layers a pattern names, and what quantisation's table
// tells of a network's answers.
#include "infer/run/probe.h"

#include <gmock/gmock.h>

#include <array>
#include <cmath>

#include "base/error.h"
#include "base/module.h"
#include "base/stop.h"
#include "base/thrown.h"
#include "infer/pixel_engine_helpers.h"
#include "infer/run/activation_map.h"
#include "network/init.h"
#include "network/zoo.h"
#include "quantize/figures.h"

namespace evener::inference {
namespace {

using testing::ElementsAre;
using testing::Gt;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::Optional;

/// Sample i has the class i % 4, whose value is 1, and the label that is given for it; absent: it can't be read.
class Answered : public data::Samples {
 public:
  using Label = std::optional<std::int32_t>;
  explicit Answered(std::vector<std::optional<Label>> labels) : labels_(std::move(labels)) {}
  std::size_t size() const override { return labels_.size(); }
  const std::vector<std::int64_t>& shape() const override { return shape_; }
  bool is_bytes() const override { return false; }
  std::string name(std::size_t index) const override { return "picture " + std::to_string(index); }
  Label label(std::size_t index) const override { return labels_[index].value(); }
  void read(std::size_t index, std::span<float> values) const override {
    if (!labels_[index]) throw Error("broken");
    std::ranges::fill(values, 0);
    values[index % 4] = 1;
  }

 private:
  const std::vector<std::optional<Label>> labels_;
  const std::vector<std::int64_t> shape_ = {4};
};

/// Of that many, all right.
Answered all_right(std::size_t count) {
  std::vector<std::optional<Answered::Label>> labels;
  for (std::size_t i = 0; i < count; ++i) labels.push_back(Answered::Label(static_cast<std::int32_t>(i % 4)));
  return Answered(labels);
}

TEST(SpreadSamples, AreTakenFromEverywhereButForThoseThatCannotBeRead) {
  std::vector<std::optional<Answered::Label>> labels(10, Answered::Label(0));
  labels[5].reset();
  const Answered samples(labels);
  std::vector<std::size_t> taken;
  each_spread_sample(samples, 4, [&](const SampleValues& sample, std::size_t index) {
    taken.push_back(index);
    EXPECT_EQ(sample.floats.at(index % 4), 1) << index;
  });
  EXPECT_THAT(taken, ElementsAre(0, 2, 7)) << "0, 2, 5 and 7 are a quarter of ten apart";
  taken.clear();
  each_spread_sample(samples, 100, [&](const SampleValues&, std::size_t index) { taken.push_back(index); });
  EXPECT_THAT(taken, ElementsAre(0, 1, 2, 3, 4, 6, 7, 8, 9));
  request_stop();
  EXPECT_THROW(each_spread_sample(samples, 4, [](const SampleValues&, std::size_t) { FAIL(); }), Interrupted);
  clear_stop_request();
}

TEST(LayersNamed, AreThoseThatEitherNameFits) {
  const std::vector<std::string> layers = {"stem", "body.conv1", "body.conv2", "fc"};
  const std::map<std::string, std::string> others = {{"body.conv1", "body.norm1"}, {"stem", "body.norm0"}};
  const auto named = [&](const std::string& pattern) { return layers_named(pattern, layers, others, "net"); };
  EXPECT_THAT(named("first"), ElementsAre("stem"));
  EXPECT_THAT(named("last"), ElementsAre("fc"));
  EXPECT_THAT(named("body.norm?"), ElementsAre("body.conv1", "stem"));
  EXPECT_THAT(named("body.*"), ElementsAre("body.conv1", "body.conv2", "stem"));
  EXPECT_THAT(
      test::thrown_by<UsageError>([&] { named("head*"); }, "none"),
      HasSubstr("--keep 'head*' names no layer with weights of net; they are stem, body.conv1, body.conv2, fc"));
}

const network::Network& four_logit_network() {
  static const network::Network network = network::build("mlp:4-4", {});
  return network;
}

// More than a batch, of which the last isn't full: nothing that fills it up is an answer.
TEST(AccuracyOfAProbe, IsTheShareOfRightAnswersToWhatCouldBeRead) {
  test::PixelEngine engine;
  const Probe probe{engine, {}, 1};
  EXPECT_EQ(accuracy_of(probe, four_logit_network(), {}, all_right(20)), 1);
  std::vector<std::optional<Answered::Label>> labels;
  for (std::size_t i = 0; i < 20; ++i) labels.push_back(Answered::Label(static_cast<std::int32_t>(i % 4)));
  labels[3].reset();
  for (const std::size_t wrong : {0, 5, 18})
    labels[wrong] = Answered::Label(static_cast<std::int32_t>((wrong + 1) % 4));
  labels[10] = Answered::Label();  // of a class that nobody knows
  EXPECT_DOUBLE_EQ(accuracy_of(probe, four_logit_network(), {}, Answered(labels)), 15 / 19.0);
  EXPECT_TRUE(std::isnan(accuracy_of(probe, four_logit_network(), {}, Answered({std::nullopt, std::nullopt}))));
}

TEST(RunFigures, AreOfTheSamplesThatCouldBeRead) {
  InferenceRequest request;
  request.model.model = "mlp:4-4";
  request.model.seed = 1;
  const InferenceModel model(request);
  quantization::FigureOptions options;
  options.infer.open_engine = [](const std::string&) { return std::make_unique<test::PixelEngine>(); };
  options.infer.engine = "torch";
  options.infer.batch = 2;
  options.infer.plan.text = "cpu";
  options.infer.plan.replicas.push_back({0, {placement::PlanStage{}}, {}});
  options.seconds = 0.02;
  options.joules_so_far = [] { return std::optional(7.0); };
  const Answered samples({std::nullopt, Answered::Label(1), Answered::Label(0), Answered::Label(3), Answered::Label(),
                          Answered::Label(1), std::nullopt});
  const quantization::RunFigures figures = quantization::measure_run(model, samples, options);
  EXPECT_EQ(figures.images, 5);
  EXPECT_THAT(figures.classes, ElementsAre(-1, 1, 2, 3, 0, 1, -1));
  EXPECT_EQ(figures.labelled, 4);
  EXPECT_EQ(figures.correct, 3);
  EXPECT_EQ(figures.unread, 2U);
  EXPECT_EQ(figures.first_unread, "picture 0: broken");
  EXPECT_THAT(figures.rates, Not(IsEmpty()));
  EXPECT_THAT(figures.rates, testing::Each(Gt(0)));
  EXPECT_THAT(figures.latencies_s, Not(IsEmpty())) << "of the first sample that can be read";
  EXPECT_THAT(figures.latencies_s, testing::Each(Gt(0)));
  EXPECT_EQ(figures.power_w, std::nullopt) << "counters are read in steps: it takes a second";
  EXPECT_EQ(figures.ap, std::nullopt);
}

using Box = std::array<double, 7>;  // sample, class, score, corners

quantization::RunFigures boxed(const std::vector<Box>& boxes) {
  quantization::RunFigures figures;
  for (const Box& box : boxes) figures.boxes.insert(figures.boxes.end(), box.begin(), box.end());
  return figures;
}

TEST(BoxesAgree, WhereTheOthersAreFoundOnTheSameSamples) {
  const Box cat = {3, 1, 0.9, 10, 20, 30, 60}, dog = {5, 0, 0.8, 0, 0, 20, 40};
  const auto with = [&](const std::vector<Box>& after) {
    const std::optional<double> found = quantization::boxes_agree(boxed({cat, dog}), boxed(after));
    return found ? std::round(1000 * *found) / 1000 : -1;
  };
  const auto changed = [](Box box, std::size_t at, double value) {
    box[at] = value;
    return box;
  };
  EXPECT_EQ(with({cat, dog}), 1);
  EXPECT_EQ(with({dog, cat}), 1);
  EXPECT_EQ(with({cat}), 0.5);
  EXPECT_EQ(with({}), 0);
  EXPECT_EQ(with({cat, changed(dog, 0, 3)}), 0.5) << "on another sample";
  EXPECT_EQ(with({cat, changed(dog, 1, 1)}), 0.5) << "of another class";
  EXPECT_EQ(with({{3, 1, 0.9, 20, 10, 60, 30}, dog}), 0.5) << "x and y exchanged";
  EXPECT_EQ(with({cat, dog, changed(cat, 0, 7)}), 1) << "as likely, of a later sample";
  EXPECT_EQ(with({cat, dog, {7, 1, 0.95, 10, 20, 30, 60}}), 0.75) << "likelier, where there was nothing";
  EXPECT_EQ(with({cat, dog, {3, 4, 0.95, 10, 20, 30, 60}}), 1) << "a class that nothing had says nothing";
  EXPECT_EQ(quantization::boxes_agree(boxed({}), boxed({cat})), std::nullopt);
}

/// Of two rows and four columns: image n has its red at place n alone, and its green at place 7 - n.
class Spots : public data::Samples {
 public:
  std::size_t size() const override { return 3; }
  const std::vector<std::int64_t>& shape() const override { return shape_; }
  bool is_bytes() const override { return true; }
  std::string name(std::size_t index) const override { return "#" + std::to_string(index); }
  void read(std::size_t index, std::span<std::uint8_t> values) const override {
    std::ranges::fill(values, std::uint8_t{0});
    values[index] = values[8 + 7 - index] = 255;
  }

 private:
  const std::vector<std::int64_t> shape_ = {3, 2, 4};
};

TEST(ClassMaps, AreOfTheSampleAndTheClassThatIsLookedAt) {
  if (module_status("torch").state == ModuleState::kNotBuilt) GTEST_SKIP() << "the torch engine is not built";
  network::Network network("colours", {3, 2, 4});
  network.add("channels", network::Conv2d{.out_channels = 2});
  network.add("average", network::GlobalAveragePool{});
  network.add("flatten", network::Flatten{});
  network.add("fc", network::Linear{.out_features = 2});
  TensorMap state = network::initial_state(network, 1);
  std::ranges::copy(std::array{1.0F, 0.0F, 0.0F, 0.0F, 1.0F, 0.0F}, state.at("channels.weight").floats());
  std::ranges::copy(std::array{1.0F, 0.0F, 0.0F, 1.0F}, state.at("fc.weight").floats());
  const auto head = pooled_head(network);
  ASSERT_TRUE(head);
  EXPECT_EQ(head->map, "channels");
  const auto engine = engine::open_engine("torch");
  const std::vector<Looked> looked = {{2, 1}, {0, 0}, {1, 5}, {1, 1}};
  const auto maps = class_maps({*engine, {{0, 0, 0}, {1, 1, 1}}, 1}, network, state, *head, Spots(), looked);
  ASSERT_EQ(maps.size(), 4U);
  EXPECT_THAT(maps[0].values, ElementsAre(0, 0, 0, 0, 0, 1, 0, 0)) << "green of the last image";
  EXPECT_THAT(maps[1].values, ElementsAre(1, 0, 0, 0, 0, 0, 0, 0));
  EXPECT_THAT(maps[2].values, IsEmpty()) << "there is no such class";
  EXPECT_THAT(maps[3].values, ElementsAre(0, 0, 0, 0, 0, 0, 1, 0));
  EXPECT_EQ(maps[3].height, 2);
  EXPECT_EQ(maps[3].width, 4);
}

}  // namespace
}  // namespace evener::inference
