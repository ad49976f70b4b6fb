#[no_mangle]
pub extern "C" fn cr_version() -> u32 { 1 }
