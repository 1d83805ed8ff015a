#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| callstitch_fuzz::fuzz_bodies::history(data));
