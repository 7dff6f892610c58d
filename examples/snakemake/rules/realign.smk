ALIGNED = files_by_name(config["realign"]["reads"], r"bam|cram")


rule realign_file:
    input:
        reads=lambda wildcards: ALIGNED[wildcards.name],
        indexes=lambda wildcards: index_of(ALIGNED[wildcards.name]),
        haplotypes=config["realign"]["haplotypes"],
        reference=config["realign"]["reference"],
        reference_index=f"{config['realign']['reference']}.fai",
    output:
        bam="results/realigned/{name}.bam",
        index="results/realigned/{name}.bam.csi",
    log:
        "logs/realign/{name}.log",
    threads: config["threads"]
    resources:
        **on_gpu(config["realign"]["mem_mb"]),
    params:
        hapgpu=HAPGPU,
        device=config["device"],
    shell:
        "{params.hapgpu} realign {input.reads:q} {input.haplotypes:q} --reference {input.reference:q}"
        " --write-index --device {params.device} -t {threads} -o {output.bam:q} 2> {log:q}"
