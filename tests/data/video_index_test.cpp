// What is made of what ffprobe tells: which frames a video has, when they are shown, and whether all of them are there.
// The program is made up here, so that each of these cases needs no video that has it. And videos as files: how they
// are recognised, and written.
#include <gmock/gmock.h>
#include <sys/stat.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <nlohmann/json.hpp>
#include <thread>

#include "base/error.h"
#include "base/files.h"
#include "base/thrown.h"
#include "data/data_helpers.h"
#include "data/open/pictures.h"
#include "data/video/ffmpeg.h"
#include "data/video/video.h"
#include "data/video/video_files.h"
#include "data/video/video_frames.h"
#include "data/video_helpers.h"

namespace evener::data {
namespace {

using namespace evener::test;
using namespace test;
using nlohmann::json;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;

namespace fs = std::filesystem;

class MadeUpVideo : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!has_ffmpeg()) GTEST_SKIP() << "the program ffmpeg is not installed";
    write_bytes(folder_ / "film", "not looked at");
  }
  /// A video of 6 x 4 pixels whose times are milliseconds, ten frames a second; `more` replaces what it says.
  static json stream(const json& more = json::object()) {
    json all = {{"codec_type", "video"},
                {"codec_name", "h264"},
                {"index", 3},
                {"width", 6},
                {"height", 4},
                {"time_base", "1/1000"},
                {"r_frame_rate", "10/1"},
                {"avg_frame_rate", "0/0"}};
    all.update(more);
    return all;
  }
  static json facts(const std::vector<json>& streams, const char* format = "mpegts", const char* start_s = "0.000000") {
    return {{"streams", streams}, {"format", {{"format_name", format}, {"start_time", start_s}}}};
  }
  /// What is found where ffprobe tells `facts`, and then `packets`, a line for each.
  VideoIndex index(
      const json& facts, const std::string& packets, const std::string& error = "",
      const std::function<bool(const VideoIndex&)>& enough = [](const VideoIndex&) { return false; }) const {
    write_bytes(folder_ / "facts", facts.dump());
    write_bytes(folder_ / "packets", packets);
    const std::string folder = folder_.path().string();
    const MadeUpProgram probe(folder_ / "programs", "ffprobe",
                              "case \"$*\" in *show_streams*) exec cat '" + folder + "/facts';; esac\necho '" + error +
                                  "' >&2\necho \"$*\" > '" + folder + "/asked'\nexec cat '" + folder + "/packets'");
    return index_video(folder_ / "film", enough);
  }
  std::string refusal(const json& facts, const std::string& packets = "0|0|100|9|K_\n") const {
    return thrown_by([&] { index(facts, packets); });
  }
  static std::vector<double> times(const VideoIndex& index) {
    std::vector<double> all;
    for (const FramePlace& frame : index.frames) all.push_back(std::round(1e6 * frame.time_s) / 1e6);
    return all;
  }
  static std::vector<std::int64_t> stamps(const VideoIndex& index) {
    std::vector<std::int64_t> all;
    for (const FramePlace& frame : index.frames) all.push_back(frame.timestamp);
    return all;
  }

  TemporaryFolder folder_;
};

TEST_F(MadeUpVideo, FramesComeAsTheyAreShownFromTheStartOn) {
  const VideoIndex found = index(facts({stream()}, "mpegts", "2.000000"),
                                 "2000|2000|100|9|K_\n2300|2100|100|9|__\n\n2100|2200|100|9|__\n2200|2300|100|9|K_\n");
  EXPECT_THAT(stamps(found), ElementsAre(2000, 2100, 2200, 2300));
  EXPECT_THAT(times(found), ElementsAre(0, 0.1, 0.2, 0.3));
  std::vector<bool> keys;
  for (const FramePlace& frame : found.frames) keys.push_back(frame.is_key);
  EXPECT_THAT(keys, ElementsAre(true, false, true, false));
  EXPECT_TRUE(found.has_timestamps);
  EXPECT_TRUE(found.can_be_sought);
  EXPECT_EQ(found.stream, 3);
  EXPECT_EQ(found.orientation, 1);
  EXPECT_EQ(found.pixels, 24);
  EXPECT_THAT(found.notes, IsEmpty());
  EXPECT_EQ(found.broken_off, "");
  EXPECT_THAT(read_file(folder_ / "asked"), HasSubstr("-select_streams 3 "));
}

TEST_F(MadeUpVideo, PacketsWithoutAFrameThatIsShownAreNone) {
  const VideoIndex found =
      index(facts({stream()}),
            "0|0|100|9|K_\n100|100|100|9|_D\n200|200|100|0|__\n300|300|100|N/A|__\n400|400|100||__\n"
            "500|500|100|9|__\n");
  EXPECT_THAT(stamps(found), ElementsAre(0, 500));
}

TEST_F(MadeUpVideo, WithoutTimesFramesAreCountedAtTheirRate) {
  const VideoIndex decoded = index(facts({stream()}), "N/A|500|100|9|K_\nN/A|600|100|9|__\nN/A|750|100|9|__\n");
  EXPECT_FALSE(decoded.has_timestamps);
  EXPECT_FALSE(decoded.can_be_sought);
  EXPECT_THAT(stamps(decoded), ElementsAre(0, 1, 2)) << "their numbers";
  EXPECT_THAT(times(decoded), ElementsAre(0, 0.1, 0.25)) << "those at which they are decoded are as far apart";
  const std::string none = "N/A|N/A|100|9|K_\nN/A|N/A|100|9|__\nN/A|N/A|100|9|__\n";
  EXPECT_THAT(times(index(facts({stream()}), none)), ElementsAre(0, 0.1, 0.2));
  EXPECT_THAT(times(index(facts({stream({{"avg_frame_rate", "20/1"}})}), none)), ElementsAre(0, 0.05, 0.1));
  EXPECT_THAT(times(index(facts({stream({{"r_frame_rate", "0/0"}})}), none)), ElementsAre(0, 0.04, 0.08)) << "assumed";
  const VideoIndex without_unit = index(facts({stream({{"time_base", "0/0"}})}), "0|0|100|9|K_\n7|7|100|9|__\n");
  EXPECT_FALSE(without_unit.has_timestamps);
  EXPECT_THAT(times(without_unit), ElementsAre(0, 0.1));
  const VideoIndex alike = index(facts({stream()}), "900|900|100|9|K_\n900|1000|100|9|__\n1200|1150|100|9|__\n");
  EXPECT_TRUE(alike.has_timestamps);
  EXPECT_FALSE(alike.can_be_sought) << "two frames have one time";
  EXPECT_THAT(stamps(alike), ElementsAre(900, 900, 1200));
  EXPECT_THAT(times(alike), ElementsAre(0, 0.1, 0.25));
}

TEST_F(MadeUpVideo, PartsBeginWhereTimesGoBackAtAKeyFrameOrFar) {
  const VideoIndex joined = index(facts({stream()}, "mpegts", "2.000000"),
                                  "2000|2000|100|9|K_\n2100|2100|100|9|__\n500|500|100|9|K_\n650|650|100|9|__\n");
  EXPECT_THAT(stamps(joined), ElementsAre(2000, 2100, 500, 650));
  EXPECT_THAT(times(joined), ElementsAre(0, 0.1, 0.2, 0.35));
  EXPECT_TRUE(joined.has_timestamps);
  EXPECT_FALSE(joined.can_be_sought);
  EXPECT_THAT(joined.notes, ElementsAre(HasSubstr("joined from 2 parts")));
  const auto parts = [&](const std::string& last) {
    const VideoIndex found = index(facts({stream()}), "0|0|100|9|K_\n300|300|100|9|__\n" + last);
    EXPECT_EQ(found.can_be_sought, found.notes.empty());
    return found.notes.empty() ? 1 : 2;
  };
  EXPECT_EQ(parts("150|150|100|9|__\n"), 1) << "a slip of less than two frames";
  EXPECT_EQ(parts("150|150|100|9|K_\n"), 2);
  EXPECT_EQ(parts("50|50|100|9|__\n"), 2) << "two and a half frames";
  EXPECT_EQ(parts("310|N/A|100|9|K_\n"), 1) << "without a time nobody knows";
}

TEST_F(MadeUpVideo, WhoPromisesMoreThanComesEndsEarly) {
  const std::string packets = "0|0|100|9|K_\n100|100|100|9|__\n200|200|100|9|__\n";
  const auto told = [&](const json& more, const char* format, const std::string& error = "") {
    return index(facts({stream(more)}, format), packets, error).broken_off;
  };
  const std::string of_five = "3 of the 5 frames that its container promises came";
  EXPECT_EQ(told({{"nb_frames", "5"}, {"duration", "0.5"}}, "mov,mp4"), of_five);
  EXPECT_EQ(told({{"nb_frames", "5"}, {"duration", "0.39"}}, "mov,mp4"), "") << "frames behind a cut are hidden";
  EXPECT_EQ(told({{"nb_frames", "3"}, {"duration", "0.9"}}, "mov,mp4"), "");
  EXPECT_EQ(told({{"nb_frames", "5"}}, "avi"), of_five);
  EXPECT_EQ(told({{"nb_frames", "3"}}, "avi"), "");
  EXPECT_EQ(told({{"duration", "9.0"}}, "mpegts"), "") << "an estimate is no promise";
  const auto tagged = [](const char* text) { return json{{"tags", {{"DURATION", text}}}}; };
  EXPECT_EQ(told(tagged("00:01:02.500000000"), "matroska,webm"),
            "3 frames in 0.30 of the 62.50 s that its container promises came");
  EXPECT_THAT(told(tagged("01:00:00.000000000"), "matroska,webm"), HasSubstr("of the 3600.00 s"));
  EXPECT_EQ(told(tagged("00:00:00.390000000"), "matroska,webm"), "") << "a frame more may be shown as long as others";
  EXPECT_EQ(told(json::object(), "mpegts", "[mov,mp4 @ 0x5] [error] stream 0, offset 0x30: partial file"),
            "3 frames came (stream 0, offset 0x30: partial file)");
  EXPECT_EQ(told(json::object(), "mpegts", "[avi @ 0x5] [error] File ended prematurely at pos. 7"),
            "3 frames came (File ended prematurely at pos. 7)");
  EXPECT_EQ(told(json::object(), "mpegts", "[h264 @ 0x5] [error] no frame!"), "");
  EXPECT_EQ(told({{"nb_frames", "5"}, {"duration", "0.1"}}, "mov", "[mov @ 0x5] [error] partial file"),
            of_five + " (partial file)");
}

TEST_F(MadeUpVideo, AnotherFilmBehindTheFirstIsTold) {
  const auto box = [](const std::string& name, bool is_long) {
    const std::string content(8, 'x');
    return is_long ? std::string("\0\0\0\1", 4) + name + std::string("\0\0\0\0\0\0\0\x18", 8) + content
                   : std::string("\0\0\0\x10", 4) + name + content;
  };
  const auto told = [&](const std::string& film) {
    write_bytes(folder_ / "film", film);
    return index(facts({stream()}), "0|0|100|9|K_\n").broken_off;
  };
  const std::string one = box("ftyp", false) + box("mdat", true) + box("moov", false);
  EXPECT_EQ(told(one), "");
  EXPECT_THAT(told(one + one), StartsWith("1 frame came, and behind them stands another film"));
  EXPECT_EQ(told(one + "\x01" + one), "") << "what follows is no box";
  EXPECT_EQ(told(one + std::string("\0\0\0\0free", 8) + one), "") << "this box reaches to the end";
  EXPECT_THAT(told(one + std::string("\0\0\1\0moov", 8)), HasSubstr("another film")) << "though it is cut short";
}

TEST_F(MadeUpVideo, LongOnesAreAskedForBeforeTheirEnd) {
  std::string packets;
  for (int i = 0; i < 600; ++i) {
    packets += std::to_string(10 * i) + "|" + std::to_string(10 * i) + "|10|9|__\n";
  }
  std::vector<std::size_t> asked;
  const auto found = [&](std::size_t enough) {
    asked.clear();
    return index(facts({stream()}), packets, "",
                 [&](const VideoIndex& so_far) {
                   asked.push_back(so_far.frames.size());
                   return so_far.frames.size() >= enough;
                 })
        .frames.size();
  };
  EXPECT_EQ(found(1000), 600U);
  EXPECT_THAT(asked, ElementsAre(256 - 64, 512 - 64)) << "those of the last may still come between";
  EXPECT_EQ(found(192), 192U);
  EXPECT_THAT(asked, ElementsAre(192));
}

TEST_F(MadeUpVideo, WhatIsNoVideoIsRefusedWithTheReason) {
  const json sound = {{"codec_type", "audio"}, {"index", 0}};
  EXPECT_EQ(refusal(facts(json::array())), "there is no video in it");
  EXPECT_EQ(refusal(facts({sound})), "it has sound, but no video");
  EXPECT_EQ(refusal(facts({stream({{"disposition", {{"attached_pic", 1}}}})})), "there is no video in it") << "a cover";
  json locked = facts({sound, stream()});
  locked["packets"] = {{{"side_data_list", {{{"side_data_type", "Encryption info"}}}}}};
  EXPECT_EQ(refusal(locked), "it is encrypted (DRM)");
  for (const char* codec : {"", "unknown", "none"}) {
    EXPECT_THAT(refusal(facts({stream({{"codec_name", codec}, {"codec_tag_string", "abcd"}})})),
                AllOf(StartsWith("its codec 'abcd' isn't known to FFmpeg "), HasSubstr("encrypted")));
  }
  EXPECT_THAT(refusal(facts({stream({{"width", 0}})})), HasSubstr("size of its frames can't be found"));
  EXPECT_THAT(refusal(facts({stream({{"height", 0}})})), HasSubstr("size of its frames can't be found"));
  EXPECT_THAT(refusal(facts({stream({{"width", 99999}, {"height", 99999}})})), HasSubstr("too large"));
  EXPECT_EQ(refusal(json::array()), "ffprobe gives what isn't understood");
  EXPECT_EQ(refusal(facts({stream()}), ""), "there is no frame in it");
  EXPECT_EQ(refusal(facts({stream()}), "0|0|100|9|KD\n"), "there is no frame in it");
  const auto reason = [](const fs::path& path) {
    return thrown_by([&] { index_video(path, [](const VideoIndex&) { return false; }); });
  };
  EXPECT_EQ(reason(folder_.path()), "not a regular file");
  EXPECT_THAT(reason(folder_ / "nothing"), StartsWith("can't be read: "));
}

TEST(Ffmpeg, ErrorsAreThoseOfTheLibrariesUnlessTheProgramsAreAskedFor) {
  const std::string library = "[mov,mp4 @ 0x55d0c8a3e2c0] [error] moov atom not found",
                    program = "[error] a.mp4: wrong";
  EXPECT_EQ(data::error_of(library), "moov atom not found");
  EXPECT_EQ(data::error_of("[x @ 0x1] [fatal] no memory"), "no memory");
  EXPECT_EQ(data::error_of("[x @ 0x1] [info] all is well"), "");
  EXPECT_EQ(data::error_of(program), "");
  EXPECT_EQ(data::error_of(program, /*of_program=*/true), "a.mp4: wrong");
  EXPECT_EQ(data::error_of("[error] " + std::string(300, 'x'), true).size(), 200U);
  EXPECT_EQ(last_error(library + "\n[y @ 0x2] [error] the last\n[y @ 0x2] [info] ended\n" + program), "the last");
  EXPECT_EQ(last_error(library + "\n" + program, true), "a.mp4: wrong");
  EXPECT_EQ(last_error(""), "");
}

TEST(Ffmpeg, MemoryGrowsWithThePixelsAndWordsStandInTheirOrder) {
  EXPECT_EQ(decoding_memory(0), 2'000'000'000U);
  EXPECT_EQ(decoding_memory(1'000'000), 2'512'000'000U);
  EXPECT_THAT(command_words("a -b  c", {"the source", "x"}, "d -e"),
              ElementsAre("a", "-b", "c", "the source", "x", "d", "-e"));
  const std::vector<std::string> source = source_words("-i b.mp4");
  EXPECT_EQ(source.back(), "file:-i b.mp4");
  EXPECT_THAT(source, ::testing::IsSupersetOf({"-protocol_whitelist", "file", "-format_whitelist", "-max_pixels"}));
}

TEST(Ffmpeg, ItsStateIsItsVersionOrWhyItCantBeUsed) {
  if (!has_ffmpeg()) GTEST_SKIP() << "the program ffmpeg is not installed";
  EXPECT_THAT(ffmpeg_state().version, StartsWith("FFmpeg "));
  EXPECT_EQ(ffmpeg_state().reason, "");
  const TemporaryFolder folder;
  {
    const MadeUpProgram other(folder / "other", "ffmpeg", "echo 'ffmpeg version n9.1-x Copyright (c)'");
    EXPECT_EQ(ffmpeg_state().version, "FFmpeg n9.1-x");
    ::setenv("PATH", (folder / "other").c_str(), 1);
    EXPECT_EQ(ffmpeg_state().version, "");
    EXPECT_EQ(ffmpeg_state().reason, "the program ffprobe was not found");
    EXPECT_THAT(thrown_by([] { require_ffmpeg(); }), HasSubstr("ffprobe, which was not found: install it"));
  }
  const MadeUpProgram silent(folder / "silent", "ffmpeg", "exit 0");
  EXPECT_THAT(ffmpeg_state().reason, HasSubstr("doesn't tell its version"));
  EXPECT_NO_THROW(require_ffmpeg());
}

TEST(VideoFiles, EachContainerIsKnownByItsBegin) {
  const std::string size("\0\0\0\x18", 4);
  for (const std::string& begin :
       {size + "moov........", size + "mdat........", size + "wide........", size + "pnot........",
        std::string("\x1A\x45\xDF\xA3"), std::string("\0\0\1\xBA", 4), std::string("\x30\x26\xB2\x75"),
        std::string("OggS"), std::string("FLV\x01"), std::string("\x06\x0E\x2B\x34")}) {
    EXPECT_TRUE(begins_as_video(begin)) << begin;
  }
  for (const char* brand :
       {"heic", "heix", "heim", "heis", "hevc", "hevx", "mif1", "msf1", "avif", "avis", "jxl ", "crx "}) {
    EXPECT_FALSE(begins_as_video(size + "ftyp" + brand)) << brand;
  }
  EXPECT_FALSE(begins_as_video("RIFF....WAVEfmt "));
  EXPECT_FALSE(begins_as_video(size + "free........"));
  const auto packets = [](std::size_t first, std::size_t length, int count) {
    std::string head(first, '\0');
    for (int i = 0; i < count; ++i) head += "G" + std::string(length - 1, '\0');
    return head;
  };
  EXPECT_TRUE(begins_as_video(packets(0, 188, 4)));
  EXPECT_TRUE(begins_as_video(packets(4, 192, 4)));
  EXPECT_FALSE(begins_as_video(packets(0, 188, 3)));
  EXPECT_FALSE(begins_as_video(packets(0, 192, 4)));
  EXPECT_FALSE(begins_as_video(packets(0, 187, 4)));
}

TEST(VideoFiles, AreRegularFilesAndLiveSourcesAreNot) {
  const TemporaryFolder folder;
  write_bytes(folder / "a.mp4", "text");
  write_bytes(folder / "b.jpg", "OggS");
  write_bytes(folder / "c.txt", "text");
  fs::create_directories(folder / "d.mp4");
  ASSERT_EQ(::mkfifo((folder / "e.mp4").c_str(), 0600), 0);
  const auto are = [&](bool (*is)(const fs::path&)) {
    std::string all;
    for (const char* name : {"a.mp4", "b.jpg", "c.txt", "d.mp4", "e.mp4", "f.mp4"})
      all += is(folder / name) ? '1' : '0';
    return all;
  };
  EXPECT_EQ(are(is_video_file), "110000");
  EXPECT_EQ(are(is_live_source), "000010");
  EXPECT_TRUE(is_live_source("/dev/null")) << "a character device, as cameras are";
}

class WrittenVideos : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!has_ffmpeg()) GTEST_SKIP() << "the program ffmpeg is not installed";
  }
  std::string path(const std::string& name) const { return (folder_ / name).string(); }
  Pictures frames(const std::string& name) const { return Pictures({path(name)}, FrameChoice()); }

  TemporaryFolder folder_;
};

TEST_F(WrittenVideos, IntoEachContainerThatAnEndingNames) {
  for (const char* name : {"a.mp4", "b.m4v", "c.mov", "d.mkv", "e.avi", "f.ts"}) {
    VideoWriter writer(path(name), 64, 48);
    writer.add(numbered_frame(3), 0);
    writer.finish();
    EXPECT_EQ(frames(name).size(), 1U) << name;
  }
  EXPECT_THAT(read_file(path("d.mkv")), StartsWith("\x1A\x45\xDF\xA3"));
  EXPECT_THAT(read_file(path("e.avi")), StartsWith("RIFF"));
  EXPECT_EQ(read_file(path("f.ts"))[188], 'G');
}

TEST_F(WrittenVideos, GreyFramesAndThoseOfOneTimeAreKept) {
  Picture grey = Picture::unset(1, 48, 64);
  for (std::size_t i = 0; i < grey.bytes(); ++i) grey.pixels[i] = static_cast<std::uint8_t>(20 + 3 * (i % 64));
  VideoWriter writer(path("grey.mp4"), 64, 48);
  for (const double time_s : {0.0, 0.5, 0.5, 0.6}) writer.add(grey, time_s);
  writer.finish();
  const Pictures read = frames("grey.mp4");
  ASSERT_EQ(read.size(), 4U) << "two of one time are shown one after the other";
  EXPECT_LT(read.time_s(1).value(), read.time_s(2).value());
  EXPECT_NEAR(read.time_s(2).value(), 0.5, 1e-3);
  const Picture last = read.read(3);
  for (std::int64_t x = 0; x < 64; ++x) {
    for (std::int64_t c = 0; c < 3; ++c) EXPECT_NEAR(last.row(20)[3 * x + c], 20 + 3 * x, 10) << x << " " << c;
  }
}

TEST_F(WrittenVideos, APlaceThatCantBeWrittenIsNamed) {
  EXPECT_THAT(thrown_by([&] { VideoWriter(path("none/clip.mp4"), 64, 48); }),
              AllOf(HasSubstr("can't write '" + path("none/clip.mp4")), HasSubstr("exist")));
  fs::create_directories(path("folder.mp4"));
  const std::string reason = thrown_by([&] {
    VideoWriter writer(path("folder.mp4"), 64, 48);
    writer.add(numbered_frame(0), 0);
    writer.finish();
  });
  EXPECT_THAT(reason, AllOf(HasSubstr("can't write '" + path("folder.mp4")), HasSubstr("directory")));
  EXPECT_EQ(file_count(folder_.path()), 1) << "nothing half written stays";
}

TEST_F(WrittenVideos, FramesThatDontComeAreToldEachForItself) {
  write_video(path("clip.mkv"), 5);
  const std::string two_frames = std::to_string(2 * numbered_frame(0).bytes() + 68);
  const MadeUpProgram cut(folder_ / "programs", "ffmpeg", "$real \"$@\" | head -c " + two_frames);
  const Pictures pictures = frames("clip.mkv");
  ASSERT_EQ(pictures.size(), 5U);
  EXPECT_EQ(pictures.read(1).row(8)[3], numbered_frame(1).row(8)[3]);
  for (const std::size_t i : {2U, 3U, 4U}) {
    EXPECT_THAT(thrown_by([&] { pictures.read(i); }), HasSubstr("can't be decoded up to there")) << i;
  }
}

TEST_F(WrittenVideos, ADamagedFrameIsToldAndTheNextOnesAreThere) {
  write_video(path("clip.avi"), 5, {.codec = "mjpeg", .options = "-q:v 2", .pixels = "yuvj444p"});
  const Picture expected = frames("clip.avi").read(3);
  std::string bytes = read_file(path("clip.avi"));
  std::size_t at = bytes.find("movi");
  for (int i = 0; i < 3; ++i) at = bytes.find("00dc", at + 4);
  const auto length = static_cast<unsigned char>(bytes[at + 4]) + 256U * static_cast<unsigned char>(bytes[at + 5]);
  std::fill_n(bytes.begin() + static_cast<std::ptrdiff_t>(at + 8), length, '\0');
  write_bytes(folder_ / "damaged.avi", bytes);
  const Pictures pictures = frames("damaged.avi");
  ASSERT_EQ(pictures.size(), 5U);
  EXPECT_EQ(thrown_by([&] { pictures.read(2); }), "the frame is damaged");
  const Picture next = pictures.read(3);
  EXPECT_TRUE(std::equal(next.row(0), next.row(0) + next.bytes(), expected.row(0)));
}

TEST_F(WrittenVideos, AVideoIsKnownAgainUnderAnyNameByItsContent) {
  // The pixels are at the end of the file.
  write_video(path("a.mov"), 60, {.codec = "mjpeg", .options = "-q:v 2 -movflags faststart", .pixels = "yuvj444p"});
  fs::copy_file(path("a.mov"), path("b.mov"));
  std::string bytes = read_file(path("a.mov"));
  ASSERT_GT(bytes.size(), 8192U);
  bytes[bytes.size() - 100] = static_cast<char>(bytes[bytes.size() - 100] ^ 1);
  write_bytes(folder_ / "c.mov", bytes);
  const auto content = [&](const char* name) { return VideoFrames(path(name), {}, 5).content(); };
  EXPECT_EQ(content("a.mov"), content("b.mov"));
  EXPECT_NE(content("a.mov"), content("c.mov"));
}

TEST_F(WrittenVideos, APipeWithoutAVideoIsRefused) {
  ASSERT_EQ(::mkfifo(path("pipe").c_str(), 0600), 0);
  std::thread writing([&] { std::ofstream(path("pipe")) << "this is no video, but a text\n"; });
  EXPECT_THAT(thrown_by([&] { frames("pipe"); }), AllOf(HasSubstr("pipe"), HasSubstr("it is no video")));
  writing.join();
}

}  // namespace
}  // namespace evener::data
