#include "report/answers.h"

#include <cstdint>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/files.h"
#include "base/utf8.h"

namespace evener::report {
namespace {

using nlohmann::json;

constexpr std::string_view kDigits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
constexpr std::uint64_t kMostAnswerBytes = 64 << 20;

}  // namespace

std::string base64(std::string_view bytes) {
  std::string text;
  text.reserve((bytes.size() + 2) / 3 * 4);
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    const auto byte = [&](std::size_t k) -> std::uint32_t {
      return i + k < bytes.size() ? static_cast<unsigned char>(bytes[i + k]) : 0;
    };
    const std::uint32_t three = byte(0) << 16 | byte(1) << 8 | byte(2);
    for (int digit = 0; digit < 4; ++digit) text += kDigits[three >> (18 - 6 * digit) & 63];
    for (std::size_t k = bytes.size() - i; k < 3; ++k) text[text.size() - (3 - k)] = '=';
  }
  return text;
}

bool is_base64(const std::string& text) {
  const std::size_t end = text.find_last_not_of('=') + 1;
  return !text.empty() && text.size() - end <= 2 && text.find_first_not_of(kDigits) >= end;
}

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
      const bool has_good_map = answer.map_base64.empty() || is_base64(answer.map_base64);
      if (!is_base64(answer.png_base64) || !has_good_map) throw Error("an image is damaged");
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
