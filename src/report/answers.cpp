#include "report/answers.h"

#include <cstdint>
#include <nlohmann/json.hpp>

#include "base/base64.h"
#include "base/error.h"
#include "base/files.h"
#include "base/utf8.h"

namespace evener::report {
namespace {

using nlohmann::json;

constexpr std::uint64_t kMostAnswerBytes = 64 << 20;

}  // namespace

void write_answers(const std::filesystem::path& path, const std::vector<AnsweredImage>& answers) {
  json list = json::array();
  for (const AnsweredImage& answer : answers) {
    list.push_back({{"file", to_utf8_text(answer.file)},
                    {"class", to_utf8_text(answer.found)},
                    {"score", answer.score},
                    {"is_probability", answer.is_probability},
                    {"true_class", to_utf8_text(answer.truth)},
                    {"png", answer.png_base64},
                    {"map", answer.map_base64},
                    {"sure_mistake", answer.is_sure_mistake},
                    {"sure_right", answer.is_sure_right}});
  }
  write_file_atomically(path, list.dump() + "\n");
}

std::vector<AnsweredImage> read_answers(const std::filesystem::path& path) {
  std::vector<AnsweredImage> answers;
  try {
    for (const json& one : json::parse(read_file(path, kMostAnswerBytes))) {
      AnsweredImage answer{one.at("file"),
                           one.at("class"),
                           one.at("score"),
                           one.at("is_probability"),
                           one.at("true_class"),
                           one.at("png"),
                           one.value("map", ""),
                           one.value("sure_mistake", false),
                           one.value("sure_right", false)};
      const bool has_good_map = answer.map_base64.empty() || from_base64(answer.map_base64).has_value();
      if (answer.png_base64.empty() || !from_base64(answer.png_base64) || !has_good_map)
        throw Error("an image is damaged");
      answers.push_back(std::move(answer));
    }
  } catch (const json::exception& error) {
    throw Error(path.string() + " can't be read: " + error.what());
  } catch (const Error& error) {
    throw Error(path.string() + " can't be read: " + error.what());
  }
  return answers;
}

}  // namespace evener::report
