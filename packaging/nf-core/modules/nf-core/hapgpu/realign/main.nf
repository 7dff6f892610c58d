process HAPGPU_REALIGN {
    tag "$meta.id"
    label 'process_medium'

    conda "${moduleDir}/environment.yml"
    container "${ workflow.containerEngine in ['singularity', 'apptainer'] && !task.ext.singularity_pull_docker_container ?
        'https://depot.galaxyproject.org/singularity/hapgpu:0.1.0--pyhdfd78af_0':
        'quay.io/biocontainers/hapgpu:0.1.0--pyhdfd78af_0' }"

    input:
    tuple val(meta), path(reads), path(index)
    tuple val(meta2), path(haplotypes)
    tuple val(meta3), path(fasta), path(fai)

    output:
    tuple val(meta), path("*.bam") , emit: bam
    tuple val(meta), path("*.csi") , emit: csi, optional: true
    tuple val(meta), path("*.json"), emit: json
    tuple val("${task.process}"), val('hapgpu'), eval("hapgpu --version | sed 's/hapgpu //'"), topic: versions, emit: versions_hapgpu

    when:
    task.ext.when == null || task.ext.when

    script:
    def args = task.ext.args ?: ''
    def prefix = task.ext.prefix ?: "${meta.id}"
    def reference = fasta ? "--reference ${fasta} --write-index" : ""
    if ("${reads}" == "${prefix}.bam") error "Input and output names are the same, use \"task.ext.prefix\" to disambiguate!"
    """
    hapgpu realign \\
        --threads ${task.cpus} \\
        ${reference} \\
        ${args} \\
        --json ${prefix}.realign.json \\
        -o ${prefix}.bam \\
        ${reads} \\
        ${haplotypes}
    """

    stub:
    def args = task.ext.args ?: ''
    def prefix = task.ext.prefix ?: "${meta.id}"
    if ("${reads}" == "${prefix}.bam") error "Input and output names are the same, use \"task.ext.prefix\" to disambiguate!"
    """
    echo ${args}
    touch ${prefix}.bam
    touch ${prefix}.bam.csi
    touch ${prefix}.realign.json
    """
}
