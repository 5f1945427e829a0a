#include "library/given.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <map>
#include <string>
#include <string_view>

#include "base/names.h"
#include "base/tensor.h"
#include "evener/error.h"

namespace evener::library {
namespace {

constexpr std::array<std::string_view, 5> kOfCommands = {"--json", "--quiet", "--dry-run", "--hosts",
                                                         "--sample-interval"};

std::string option_key(const std::string& name) {
  std::string key = name;
  std::ranges::replace(key, '_', '-');
  return key;
}

OptionBase& find_option(const OptionSet& options, const std::string& name) {
  std::vector<std::string> known;
  for (OptionBase* option : options.options()) {
    if (option->key() == option_key(name)) return *option;
    known.push_back(option->key());
  }
  for (OptionBase* option : options.options()) {
    if (option->is_called_elsewhere("--" + option_key(name))) {
      throw UsageError(fmt::format("unknown option '{}'; it is called '{}' here", name, option->key()));
    }
  }
  throw UsageError(unknown_name_message("option", name, known));
}

/// Limits of one extent and of all values together, so that no product of extents overflows.
constexpr std::int64_t kLargestExtent = std::int64_t{1} << 24, kMostValues = std::int64_t{1} << 40;

/// Throws Error for extents that are too large or 0. Only the first, the number of samples, may be 0.
void require_extents(const std::vector<std::int64_t>& shape) {
  std::int64_t values = 1;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    const std::int64_t extent = shape[i];
    if (i == 0 && extent == 0) continue;
    if (extent < 1 || extent > kLargestExtent || values > kMostValues / extent) {
      throw Error(fmt::format("an array of shape {} can't be samples: extents go from 1 to {}, of at most {} values",
                              shape_text(shape), kLargestExtent, kMostValues));
    }
    values *= extent;
  }
}

class PictureSpanSamples : public data::Samples {
 public:
  PictureSpanSamples(const PictureSpan& pictures, const data::Preprocessing& steps)
      : pictures_(pictures),
        steps_(steps),
        shape_{steps.shape.channels, steps.shape.height, steps.shape.width},
        each_(static_cast<std::size_t>(pictures.height * pictures.width * pictures.channels)) {}

  std::size_t size() const override { return static_cast<std::size_t>(pictures_.count); }
  const std::vector<std::int64_t>& shape() const override { return shape_; }
  bool is_bytes() const override { return true; }
  std::string name(std::size_t index) const override { return fmt::format("#{}", index); }
  void read(std::size_t index, std::span<std::uint8_t> values) const override {
    data::Picture picture = data::Picture::unset(pictures_.channels, pictures_.height, pictures_.width);
    std::memcpy(picture.pixels.get(), pictures_.pixels + index * each_, each_);
    data::preprocess(std::move(picture), steps_, values);
  }

 private:
  const PictureSpan pictures_;
  const data::Preprocessing steps_;
  const std::vector<std::int64_t> shape_;
  const std::size_t each_;
};

class ValueSamples : public data::Samples {
 public:
  explicit ValueSamples(const SampleSpan& samples)
      : samples_(samples),
        shape_(samples.shape.begin() + 1, samples.shape.end()),
        each_(static_cast<std::size_t>(element_count(shape_))) {}

  std::size_t size() const override { return static_cast<std::size_t>(samples_.shape.front()); }
  const std::vector<std::int64_t>& shape() const override { return shape_; }
  bool is_bytes() const override { return samples_.bytes != nullptr; }
  std::string name(std::size_t index) const override { return fmt::format("#{}", index); }
  void read(std::size_t index, std::span<std::uint8_t> values) const override {
    std::memcpy(values.data(), samples_.bytes + index * each_, each_);
  }
  void read(std::size_t index, std::span<float> values) const override {
    std::memcpy(values.data(), samples_.floats + index * each_, each_ * sizeof(float));
  }

 private:
  const SampleSpan samples_;
  const std::vector<std::int64_t> shape_;
  const std::size_t each_;
};

}  // namespace

OptionSet givable(OptionSet options) {
  options.leave_out([](const OptionBase& option) {
    return option.rules().hidden || std::ranges::find(kOfCommands, option.name()) != kOfCommands.end();
  });
  return options;
}

void give(const OptionSet& options, const Options& given) {
  std::map<std::string, OptionValue> last;  // what a program sets twice has the last value
  for (const auto& [name, value] : given.values()) last.insert_or_assign(option_key(name), value);
  for (const auto& [name, value] : last) {
    OptionBase& option = find_option(options, name);
    if (option.kind() != ValueKind::kSwitchOrOne || !value.is_truth()) {
      option.give(value.words());
    } else if (value.words().front() == "true") {
      option.give({""});
    }
  }
}

void check(const OptionSet& options) {
  for (const OptionBase* option : options.options()) {
    if (option->rules().required && !option->given()) {
      throw UsageError(fmt::format("the option '{}' is missing: {}", option->key(), option->words().help));
    }
  }
  options.check();
}

std::vector<OptionDescription> described(const OptionSet& options) {
  using Kind = OptionDescription::Kind;  // in the order of ValueKind
  constexpr Kind kKinds[] = {Kind::kSwitch, Kind::kOneValue, Kind::kManyValues, Kind::kSwitchOrValue};
  std::vector<OptionDescription> descriptions;
  for (const OptionBase* option : options.options()) {
    descriptions.push_back({.name = option->key(),
                            .kind = kKinds[static_cast<std::size_t>(option->kind())],
                            .value = option->words().value,
                            .value_kind = option->value_words(),
                            .help = option->words().help,
                            .default_text = option->default_text(),
                            .choices = option->rules().one_of,
                            .required = option->rules().required});
  }
  return descriptions;
}

std::unique_ptr<data::Samples> picture_span_samples(const PictureSpan& pictures, const data::Preprocessing& steps) {
  require_extents({pictures.count, pictures.height, pictures.width, pictures.channels});
  if (pictures.pixels == nullptr && pictures.count > 0) throw Error("the pictures' pixels are a null pointer");
  if (pictures.channels != 1 && pictures.channels != 3) {
    throw Error(fmt::format("pictures have 1 channel (grey) or 3 (RGB), not {}", pictures.channels));
  }
  return std::make_unique<PictureSpanSamples>(pictures, steps);
}

std::unique_ptr<data::Samples> value_samples(const SampleSpan& samples) {
  require_extents(samples.shape);
  if (samples.shape.size() < 2) {
    throw Error(
        fmt::format("samples have a shape of their own behind their count, but this is {}", shape_text(samples.shape)));
  }
  const bool has_both = samples.bytes != nullptr && samples.floats != nullptr;
  const bool lacks_both = samples.bytes == nullptr && samples.floats == nullptr && samples.shape.front() > 0;
  if (has_both || lacks_both) {
    throw Error("samples are either bytes or floats: one of the two pointers is set");
  }
  return std::make_unique<ValueSamples>(samples);
}

}  // namespace evener::library

namespace evener {

OptionValue::OptionValue(double number) : words_{fmt::format("{}", number)} {}

}  // namespace evener
