// A detector's loss and gradients against plain loops in double, and its matching of anchors with objects.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

#include "engine/batches_helpers.h"
#include "engine/box_matching.h"
#include "network/anchors.h"
#include "network/init.h"

namespace evener::engine {
namespace {

constexpr std::int64_t kSide = 32, kClasses = 3, kScores = kClasses + 1;
const data::ImageShape kShape{3, kSide, kSide};

/// Two levels of anchors on few layers, none of which depends on the other samples of a batch.
network::Network small_detector() {
  network::Network network("small_detector", {kShape.channels, kSide, kSide});
  network.add("conv0", network::Conv2d{.out_channels = 8, .kernel = 3, .stride = 4, .padding = 1, .bias = true});
  const int fine = network.add("tanh0", network::Activation{network::ActivationKind::kTanh});
  network.add("conv1", network::Conv2d{.out_channels = 8, .kernel = 3, .stride = 2, .padding = 1, .bias = true});
  const int coarse = network.add("tanh1", network::Activation{network::ActivationKind::kTanh});
  std::vector<network::AnchorLevel> levels;
  const std::vector<double> scales = network::anchor_scales(2, 0.2, 0.6);
  std::vector<int> boxes, scores;
  for (const int level : {fine, coarse}) {
    const network::Shape shape = network.layers()[static_cast<std::size_t>(level)].shape;
    const std::size_t index = levels.size();
    levels.push_back({.rows = shape[1], .columns = shape[2], .scale = scales[index], .next_scale = scales[index + 1]});
    const std::int64_t per_cell = levels.back().anchors_per_cell();
    const std::string name = std::to_string(index);
    network.add("boxes" + name, network::Conv2d{.out_channels = 4 * per_cell, .bias = true}, {level});
    boxes.push_back(network.add("boxes" + name + ".rows", network::Rows{4}));
    network.add("scores" + name, network::Conv2d{.out_channels = kScores * per_cell, .bias = true}, {level});
    scores.push_back(network.add("scores" + name + ".rows", network::Rows{kScores}));
  }
  network.set_output("boxes", network.add("boxes", network::Concat{}, boxes));
  network.set_output("scores", network.add("scores", network::Concat{}, scores));
  network.set_anchors(network::default_boxes(levels));
  return network;
}

/// Images with one object, with a crowd of equal ones, with none, with one larger than all anchors, and with a tiny
/// one.
struct BoxBatch {
  test::OwnedBatch pixels = test::random_batch(5, kShape, kClasses);
  std::vector<std::vector<data::LabelledBox>> boxes = {
      {{4, 5, 17, 15, 1}},
      {{2, 2, 12, 12, 0}, {2, 2, 12, 12, 2}, {3, 2, 12, 12, 1}, {18, 14, 30, 31, 2}},
      {},
      {{0, 0, 32, 32, 2}},
      {{20, 20, 21.5F, 21, 0}, {6, 20, 16, 28, 0}}};

  data::Batch view() const {
    data::Batch batch = pixels.view();
    batch.targets = data::BoxTargets{boxes};
    return batch;
  }
};

double overlap(const data::LabelledBox& a, const data::LabelledBox& b) {
  const double width = std::max(0.0F, std::min(a.x2, b.x2) - std::max(a.x1, b.x1));
  const double height = std::max(0.0F, std::min(a.y2, b.y2) - std::max(a.y1, b.y1));
  const auto area = [](const data::LabelledBox& box) { return double{box.x2 - box.x1} * (box.y2 - box.y1); };
  return width * height / (area(a) + area(b) - width * height);
}

std::vector<data::LabelledBox> anchor_boxes(const network::Network& network) {
  std::vector<data::LabelledBox> boxes;
  for (const network::Anchor& a : network.anchors()) {
    const float x = a.cx * kSide, y = a.cy * kSide, w = a.w * kSide / 2, h = a.h * kSide / 2;
    boxes.push_back({x - w, y - h, x + w, y + h, 0});
  }
  return boxes;
}

/// The object that each anchor stands for (-1: none), by the rule of SSD's paper.
std::vector<int> owners(const std::vector<data::LabelledBox>& anchors, const std::vector<data::LabelledBox>& objects) {
  std::vector<int> owner(anchors.size(), -1);
  for (std::size_t a = 0; a < anchors.size(); ++a) {
    double best = 0.5;
    for (std::size_t k = 0; k < objects.size(); ++k) {
      const double shared = overlap(anchors[a], objects[k]);
      if (shared < best || (owner[a] >= 0 && shared == best)) continue;
      best = shared;
      owner[a] = static_cast<int>(k);
    }
  }
  for (std::size_t k = 0; k < objects.size(); ++k) {
    const auto best = std::ranges::max_element(
        anchors, {}, [&](const data::LabelledBox& anchor) { return overlap(anchor, objects[k]); });
    owner[static_cast<std::size_t>(best - anchors.begin())] = static_cast<int>(k);
  }
  return owner;
}

double smooth_l1(double difference) {
  return std::abs(difference) < 1 ? difference * difference / 2 : std::abs(difference) - 0.5;
}

struct Losses {
  double boxes = 0, classes = 0;
  std::int64_t matches = 0;
};

/// Of one image, from the network's outputs for it.
Losses plain_losses(const std::vector<data::LabelledBox>& anchors, const std::vector<data::LabelledBox>& objects,
                    const float* boxes, const float* scores) {
  Losses losses;
  const std::vector<int> owner = owners(anchors, objects);
  std::vector<double> background;
  for (std::size_t a = 0; a < anchors.size(); ++a) {
    const float* const row = scores + a * kScores;
    double sum = 0;
    for (int c = 0; c < kScores; ++c) sum += std::exp(double{row[c]});
    const auto loss_of = [&](int wanted) { return std::log(sum) - row[wanted]; };
    if (owner[a] < 0) {
      background.push_back(loss_of(0));
      continue;
    }
    ++losses.matches;
    const data::LabelledBox& object = objects[static_cast<std::size_t>(owner[a])];
    losses.classes += loss_of(object.label + 1);
    const auto middle = [](float low, float high) { return (low + high) / 2; };
    const double w = anchors[a].x2 - anchors[a].x1, h = anchors[a].y2 - anchors[a].y1;
    const double wanted[4] = {10 * (middle(object.x1, object.x2) - middle(anchors[a].x1, anchors[a].x2)) / w,
                              10 * (middle(object.y1, object.y2) - middle(anchors[a].y1, anchors[a].y2)) / h,
                              5 * std::log((object.x2 - object.x1) / w), 5 * std::log((object.y2 - object.y1) / h)};
    for (int i = 0; i < 4; ++i) losses.boxes += smooth_l1(boxes[4 * a + static_cast<std::size_t>(i)] - wanted[i]);
  }
  std::ranges::sort(background, std::greater());
  const auto hardest = std::min<std::size_t>(background.size(), static_cast<std::size_t>(3 * losses.matches));
  losses.classes =
      std::accumulate(background.begin(), background.begin() + static_cast<std::ptrdiff_t>(hardest), losses.classes);
  return losses;
}

class DetectorTest : public test::EngineTest<test::kTorch> {
 protected:
  std::unique_ptr<Trainer> trainer(network::BoxLoss loss = network::BoxLoss::kSmoothL1, bool ahead = false) const {
    TrainerOptions options;
    options.torch.like_accelerator = ahead;
    options.criterion = network::multi_box(loss);
    return test::make_trainer(network_, options);
  }

  const network::Network network_ = small_detector();
  const BoxBatch batch_;
};

TEST_F(DetectorTest, LossIsThatOfPlainLoops) {
  const auto trained = trainer();
  DetectsObjects& detector = *trained->capabilities().detector;
  std::vector<HostTensor> outputs;
  const Sums sums = detector.evaluate_outputs(batch_.view(), outputs);
  ASSERT_EQ(outputs.size(), 2U);
  const std::vector<data::LabelledBox> anchors = anchor_boxes(network_);
  Losses expected;
  for (std::size_t image = 0; image < batch_.boxes.size(); ++image) {
    const Losses own = plain_losses(anchors, batch_.boxes[image], outputs[0].floats() + image * anchors.size() * 4,
                                    outputs[1].floats() + image * anchors.size() * kScores);
    expected.boxes += own.boxes;
    expected.classes += own.classes;
    expected.matches += own.matches;
  }
  EXPECT_GT(expected.matches, 10);
  EXPECT_EQ(detector.matches(batch_.view()), expected.matches);
  // Sums of some hundred losses in float32.
  EXPECT_NEAR(sums.total("box_loss"), expected.boxes, 1e-4 * expected.boxes);
  EXPECT_NEAR(sums.total("class_loss"), expected.classes, 1e-4 * expected.classes);
  EXPECT_NEAR(sums.total("loss"), expected.boxes + expected.classes, 1e-4 * (expected.boxes + expected.classes));
}

TEST_F(DetectorTest, GradientsEqualFiniteDifferences) {
  for (const network::BoxLoss loss : {network::BoxLoss::kSmoothL1, network::BoxLoss::kGiou}) {
    const auto trained = trainer(loss);
    trained->forward_backward(batch_.view(), 1.0);
    const TensorMap gradients = test::exchange_of(*trained).gradients();
    const TensorMap state = trained->state();
    const auto loss_at = [&](const std::string& name, std::int64_t place, float step) {
      TensorMap moved = state;
      moved.at(name).floats()[place] += step;
      trained->load_state(moved);
      return trained->evaluate(batch_.view()).total("loss");
    };
    for (const auto& [name, gradient] : gradients) {
      const std::int64_t last = element_count(gradient.shape) - 1;
      constexpr float kStep = 2e-3F;
      const double difference = (loss_at(name, last, kStep) - loss_at(name, last, -kStep)) / (2 * kStep);
      // The loss is some 100, rounded to 1e-5, over the step; kinks of what counts as hard come on top.
      EXPECT_NEAR(gradient.floats()[last], difference, 0.02 + 0.02 * std::abs(difference)) << name;
    }
  }
}

// Shares of a batch, each of them divided by the matches of the whole.
TEST_F(DetectorTest, GradientsOfPartsAddUpToTheWhole) {
  const auto trained = trainer();
  const data::Batch whole = batch_.view();
  const double weight = 1.0 / static_cast<double>(trained->capabilities().detector->matches(whole));
  trained->forward_backward(whole, weight);
  const TensorMap expected = test::exchange_of(*trained).gradients();
  trained->clear_gradients();
  for (const auto& [begin, end] : {std::pair{0, 2}, {2, 3}, {3, 5}}) {
    trained->add_gradients(data::part_of(whole, begin, end), weight);
  }
  EXPECT_LT(test::relative_distance(test::exchange_of(*trained).gradients(), expected), 1e-6);
}

TEST_F(DetectorTest, ALossThatIsNotFiniteNamesItsSample) {
  BoxBatch bad;
  bad.boxes[3] = {{10, 0, 10, 32, 2}};  // without a width, whose logarithm is not finite
  const auto trained = trainer();
  trained->forward_backward(bad.view(), 1.0);
  EXPECT_EQ(trained->capabilities().detector->culprit(), bad.view().samples[3]);
  const auto ahead = trainer(network::BoxLoss::kSmoothL1, true);
  StepReport report = ahead->step(bad.view(), 1.0, 0.1);
  if (report.finite) report = ahead->settle();
  EXPECT_FALSE(report.finite);
  EXPECT_EQ(report.culprit, bad.view().samples[3]);
}

TEST_F(DetectorTest, WeightsThatAreNotFiniteAreNoSamplesFault) {
  const auto trained = trainer();
  TensorMap state = trained->state();
  state.at("scores0.bias").floats()[0] = std::numeric_limits<float>::quiet_NaN();
  trained->load_state(state);
  trained->forward_backward(batch_.view(), 1.0);
  EXPECT_EQ(trained->capabilities().detector->culprit(), std::nullopt);
}

// An anchor that stands for an object keeps it, wherever crowds are; a crowd alone makes no anchor an object.
TEST(BoxMatcher, IgnoresAnchorsInCrowds) {
  const BoxMatcher matcher({{0.25F, 0.5F, 0.5F, 1}, {0.75F, 0.5F, 0.5F, 1}, {0.5F, 0.5F, 1, 1}}, 10, 10, 2, 0.5);
  data::LabelledBox crowd{5, 0, 10, 10, 1};
  crowd.is_crowd = true;
  std::vector<std::int64_t> classes(3);
  std::vector<float> offsets(12);
  EXPECT_EQ(matcher.match(std::vector{crowd}, classes, offsets), 0);
  EXPECT_EQ(classes, (std::vector<std::int64_t>{0, kIgnored, kIgnored})) << "half of the last one lies in it";
  EXPECT_EQ(matcher.match(std::vector{crowd, {5, 1, 10, 9, 0}}, classes, offsets), 1);
  EXPECT_EQ(classes, (std::vector<std::int64_t>{0, 1, kIgnored}));
  EXPECT_EQ(matcher.count(std::vector{crowd, {5, 1, 10, 9, 0}}), 1);
}

// What the network says of ignored anchors changes neither the loss nor a gradient.
TEST_F(DetectorTest, CrowdsAreNeitherObjectsNorBackground) {
  data::LabelledBox crowd{-kSide, -kSide, 2 * kSide, 2 * kSide, 1};  // anchors reach beyond the image
  crowd.is_crowd = true;
  BoxBatch batch;
  for (auto& boxes : batch.boxes) boxes = {crowd};
  batch.boxes[1].push_back({2, 2, 12, 12, 0});
  const auto trained = trainer();
  const auto matched = trained->capabilities().detector->matches(batch.view());
  EXPECT_GT(matched, 0);
  std::vector<HostTensor> outputs;
  const Sums sums = trained->capabilities().detector->evaluate_outputs(batch.view(), outputs);
  double expected = 0;  // of the matched anchors alone
  const std::vector<data::LabelledBox> anchors = anchor_boxes(network_);
  const std::vector<int> owner = owners(anchors, {batch.boxes[1].back()});
  for (std::size_t a = 0; a < anchors.size(); ++a) {
    if (owner[a] < 0) continue;
    const float* const row = outputs[1].floats() + (anchors.size() + a) * kScores;
    double sum = 0;
    for (int c = 0; c < kScores; ++c) sum += std::exp(double{row[c]});
    expected += std::log(sum) - row[1];
  }
  EXPECT_NEAR(sums.total("class_loss"), expected, 1e-4 * expected);
  batch.boxes[1] = {crowd};
  trained->forward_backward(batch.view(), 1.0);
  for (const auto& [name, gradient] : test::exchange_of(*trained).gradients()) {
    for (std::int64_t i = 0; i < element_count(gradient.shape); ++i) ASSERT_EQ(gradient.floats()[i], 0) << name;
  }
}

TEST(BoxMatcher, RefusesAClassThatTheDetectorDoesNotKnow) {
  const BoxMatcher matcher({{0.5F, 0.5F, 1, 1}}, 10, 10, 2, 0.5);
  std::vector<std::int64_t> classes(1);
  std::vector<float> offsets(4);
  const std::vector<data::LabelledBox> objects = {{0, 0, 5, 5, 2}};
  EXPECT_THROW(matcher.match(objects, classes, offsets), Error);
  EXPECT_EQ(matcher.count({}), 0);
}

}  // namespace
}  // namespace evener::engine
