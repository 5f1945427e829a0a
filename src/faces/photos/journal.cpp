#include "faces/photos/journal.h"

#include <bit>
#include <cerrno>
#include <cstring>
#include <nlohmann/json.hpp>
#include <optional>
#include <stdexcept>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/files.h"
#include "base/random.h"

// The file: a line that names the format, then entries. Each has the length of its body and a checksum of it, 8 bytes
// each, least significant first, and the body in CBOR. The first entry holds the settings.
namespace evener::faces {
namespace {

using nlohmann::json;

constexpr std::string_view kHeading = "evener faces journal 2\n", kHeadingOfAny = "evener faces journal ";
constexpr std::uint64_t kMostBytes = std::uint64_t{1} << 28;  // of an entry: some 10,000 faces

static_assert(std::endian::native == std::endian::little, "numbers are written as they lie in memory");

template <class T>
json binary_of(const T* values, std::size_t count) {
  const auto* first = reinterpret_cast<const std::uint8_t*>(values);
  return json::binary(std::vector<std::uint8_t>(first, first + count * sizeof(T)));
}

std::vector<float> floats_of(const json& value) {
  const auto& bytes = value.get_binary();
  std::vector<float> floats(bytes.size() / sizeof(float));
  if (!floats.empty()) std::memcpy(floats.data(), bytes.data(), floats.size() * sizeof(float));
  return floats;
}

// A face is written as it lies in memory: the box, its probability, and the landmarks.
static_assert(std::is_trivially_copyable_v<Face> && sizeof(Face) == 15 * sizeof(float));

Face face_of(const json& value) {
  const auto& bytes = value.get_binary();
  if (bytes.size() < sizeof(Face)) throw std::out_of_range("");
  Face face;
  std::memcpy(&face, bytes.data(), sizeof(Face));
  return face;
}

json entry_of(const PhotoFaces& photo) {
  json faces = json::array();
  for (const EmbeddedFace& face : photo.faces) {
    faces.push_back({{"face", binary_of(&face.face, 1)},
                     {"embedding", binary_of(face.embedding.data(), face.embedding.size())},
                     {"thumbnail", binary_of(face.thumbnail.data(), face.thumbnail.size())}});
  }
  return {{"content", photo.content}, {"faces", std::move(faces)}};
}

PhotoFaces photo_of(const json& entry) {
  PhotoFaces photo;
  photo.content = entry.at("content").get<std::uint64_t>();
  for (const json& face : entry.at("faces")) {
    const auto& thumbnail = face.at("thumbnail").get_binary();
    photo.faces.push_back(
        {0, face_of(face.at("face")), floats_of(face.at("embedding")), {thumbnail.begin(), thumbnail.end()}});
  }
  return photo;
}

/// The next entry; none where the file ends, or where its end is not whole.
std::optional<json> next_entry(std::istream& file) {
  std::uint64_t head[2] = {};
  if (!file.read(reinterpret_cast<char*>(head), sizeof(head)) || head[0] > kMostBytes) return std::nullopt;
  std::string body(head[0], '\0');
  if (!file.read(body.data(), static_cast<std::streamsize>(body.size())) || hash_text(body) != head[1]) {
    return std::nullopt;
  }
  json entry = json::from_cbor(body, /*strict=*/true, /*allow_exceptions=*/false);
  return entry.is_discarded() ? std::nullopt : std::optional(std::move(entry));
}

}  // namespace

std::uint64_t read_journal(const std::filesystem::path& path, const std::function<void(const json&)>& on_settings,
                           const std::function<void(PhotoFaces)>& on_photo) {
  const auto refuse = [&](const std::string& reason) {
    throw Error("'" + path.string() + "' is no journal of evener faces: " + reason + "; --overwrite begins a new one");
  };
  std::ifstream file(path, std::ios::binary);
  std::string heading(kHeading.size(), '\0');
  const bool is_read = static_cast<bool>(file.read(heading.data(), static_cast<std::streamsize>(heading.size())));
  if (is_read && heading != kHeading && heading.starts_with(kHeadingOfAny)) {
    throw Error("'" + path.string() + "' was written by another version of evener; --overwrite begins a new one");
  }
  if (!is_read || heading != kHeading) refuse("it begins with something else");
  const std::optional<json> settings = next_entry(file);
  if (!settings) refuse("its settings are damaged");
  auto whole_bytes = static_cast<std::uint64_t>(file.tellg());
  try {
    on_settings(*settings);
    while (const std::optional<json> entry = next_entry(file)) {
      on_photo(photo_of(*entry));
      whole_bytes = static_cast<std::uint64_t>(file.tellg());
    }
  } catch (const json::exception& error) {
    refuse(error.what());
  } catch (const std::out_of_range&) {
    refuse("a face in it has too few numbers");
  }
  return whole_bytes;
}

FacesJournal::FacesJournal(const std::filesystem::path& path, const json& settings)
    : path_(path), file_(path, std::ios::binary | std::ios::trunc) {
  file_ << kHeading;
  write(settings);
}

FacesJournal::FacesJournal(const std::filesystem::path& path, std::uint64_t whole_bytes) : path_(path) {
  std::filesystem::resize_file(path, whole_bytes);
  file_.open(path, std::ios::binary | std::ios::app);
}

void FacesJournal::add(const PhotoFaces& photo) {
  write(entry_of(photo));
}

void FacesJournal::write(const json& entry) {
  std::string body;
  json::to_cbor(entry, body);
  const std::uint64_t head[2] = {body.size(), hash_text(body)};
  errno = 0;
  file_.write(reinterpret_cast<const char*>(head), sizeof(head));
  file_ << body << std::flush;
  if (!file_) fail_to_write(path_, errno);
}

}  // namespace evener::faces
