#include "record/answers.h"

#include <cstdint>
#include <nlohmann/json.hpp>

#include "base/base64.h"
#include "base/error.h"
#include "base/files.h"
#include "base/utf8.h"
#include "record/described_json.h"

namespace evener::record {
namespace {

constexpr std::uint64_t kMostAnswerBytes = 64 << 20;

}  // namespace

template <typename Fields>
void describe(Fields& fields, Of<AnsweredImage> auto& answer) {
  fields.required("class", answer.found);
  fields.required("file", answer.file);
  fields.required("is_probability", answer.is_probability);
  fields.value("map", answer.map_base64);
  fields.required("png", answer.png_base64);
  fields.required("score", answer.score);
  fields.value("sure_mistake", answer.is_sure_mistake);
  fields.value("sure_right", answer.is_sure_right);
  fields.required("true_class", answer.truth);
  // Both become parts of a page.
  fields.check("png", !answer.png_base64.empty() && from_base64(answer.png_base64), "expected an image in base64");
  fields.check("map", from_base64(answer.map_base64).has_value(), "expected an image in base64");
}

void write_answers(const std::filesystem::path& path, const std::vector<AnsweredImage>& answers) {
  auto list = nlohmann::ordered_json::array();
  for (AnsweredImage answer : answers) {
    for (std::string* name : {&answer.file, &answer.found, &answer.truth}) *name = to_utf8_text(*name);
    list.push_back(described_json(answer));
  }
  write_file_atomically(path, json_text(list) + "\n");
}

std::vector<AnsweredImage> read_answers(const std::filesystem::path& path) {
  const auto list = nlohmann::json::parse(read_file(path, kMostAnswerBytes), nullptr, false);
  if (!list.is_array()) throw Error(path.string() + " can't be read: it is no list of JSON");
  std::vector<AnsweredImage> answers;
  for (const nlohmann::json& one : list) read_described(one, path.string() + " can't be read", answers.emplace_back());
  return answers;
}

}  // namespace evener::record
