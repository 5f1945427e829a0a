#include "record/predicted_images.h"

#include <cstdint>
#include <nlohmann/json.hpp>

#include "base/base64.h"
#include "base/error.h"
#include "base/files.h"
#include "base/utf8.h"
#include "record/described_json.h"

namespace evener::record {
namespace {

constexpr std::uint64_t kMostFileBytes = 64 << 20;

}  // namespace

template <typename Fields>
void describe(Fields& fields, Of<PredictedImage> auto& prediction) {
  fields.required("class", prediction.found);
  fields.required("file", prediction.file);
  fields.required("is_probability", prediction.is_probability);
  fields.value("map", prediction.map_base64);
  fields.required("png", prediction.png_base64);
  fields.required("score", prediction.score);
  fields.value("sure_mistake", prediction.is_sure_mistake);
  fields.value("sure_right", prediction.is_sure_right);
  fields.required("true_class", prediction.truth);
  fields.left_out_if(!prediction.is_unknown, "unknown", prediction.is_unknown);
  // Both strings become parts of an HTML page, so they must be plain base64.
  fields.check("png", !prediction.png_base64.empty() && from_base64(prediction.png_base64),
               "expected an image in base64");
  fields.check("map", from_base64(prediction.map_base64).has_value(), "expected an image in base64");
}

void write_predicted_images(const std::filesystem::path& path, const std::vector<PredictedImage>& predictions) {
  auto list = nlohmann::ordered_json::array();
  for (PredictedImage prediction : predictions) {
    for (std::string* name : {&prediction.file, &prediction.found, &prediction.truth}) *name = to_utf8_text(*name);
    list.push_back(described_json(prediction));
  }
  write_file_atomically(path, json_text(list) + "\n");
}

std::vector<PredictedImage> read_predicted_images(const std::filesystem::path& path) {
  const auto list = nlohmann::json::parse(read_file(path, kMostFileBytes), nullptr, false);
  if (!list.is_array()) throw Error(path.string() + " can't be read: it is no list of JSON");
  std::vector<PredictedImage> predictions;
  for (const nlohmann::json& one : list)
    read_described(one, path.string() + " can't be read", predictions.emplace_back());
  return predictions;
}

}  // namespace evener::record
